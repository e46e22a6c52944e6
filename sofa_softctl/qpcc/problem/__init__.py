"""The inverse problem of a time step: compliance, limits, contacts, and their modes."""
