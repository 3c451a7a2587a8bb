"""Tags as options of commands: `NAME=VALUE`."""

from collections.abc import Iterable


def tag_filter(tags: Iterable[str]) -> dict[str, str | None]:
    """What to look for; a name alone means any value."""
    parted = (tag.partition("=") for tag in tags)
    return {name: value if equals else None for name, equals, value in parted}
