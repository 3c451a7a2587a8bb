"""Who asks, and what they may do: tokens, tokens of an issuer, roles, rates."""
