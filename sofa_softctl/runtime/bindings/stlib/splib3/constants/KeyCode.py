"""Keys as the numbers of their characters."""

leftarrow, uparrow, rightarrow, downarrow = 18, 19, 20, 21
space, plus, minus = ord(" "), ord("+"), ord("-")
A, B = ord("A"), ord("B")
