"""The search among contact modes against enumeration."""
