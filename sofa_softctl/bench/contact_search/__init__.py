"""The contact mode search, verified against enumeration."""
