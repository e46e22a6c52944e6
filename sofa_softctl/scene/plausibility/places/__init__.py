"""Points, surfaces, cables and joined nodes that do not lie where they should."""
