"""Studies: parameters, designs and measures, in Python and as files."""
