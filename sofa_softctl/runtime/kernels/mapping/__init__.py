"""Points that follow others."""
