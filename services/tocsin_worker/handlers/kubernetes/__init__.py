"""The handler `kubernetes`: runs a Job in a Kubernetes cluster."""
