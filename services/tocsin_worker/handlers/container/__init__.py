"""The handler `container`: runs a container by the Docker Engine API, of Docker or Podman."""
