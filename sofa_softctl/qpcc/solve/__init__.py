"""Solutions of the inverse problem of a time step, without contacts and with them."""
