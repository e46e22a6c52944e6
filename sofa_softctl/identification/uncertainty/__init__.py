"""What an estimate is worth: intervals, identifiability, tests of residuals."""
