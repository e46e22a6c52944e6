"""Effects that models leave out, as parameters that can be switched on."""
