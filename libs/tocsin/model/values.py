"""The base of every value: frozen, compared by content, built whole."""

import msgspec


class Value(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A frozen record. `msgspec.structs.replace` makes a changed copy."""
