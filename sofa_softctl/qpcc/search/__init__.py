"""The search among what contacts can do: pivoting, and branch and bound."""
