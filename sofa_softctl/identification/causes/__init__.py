"""Causes of residuals that noise does not explain: effects left out, wrong columns."""
