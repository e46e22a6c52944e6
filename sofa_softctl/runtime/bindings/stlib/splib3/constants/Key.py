"""Keys as the characters that key events carry."""

import string

leftarrow, uparrow, rightarrow, downarrow = (chr(code) for code in (18, 19, 20, 21))
space, plus, minus = " ", "+", "-"
globals().update({letter: letter for letter in string.ascii_uppercase})
globals().update({f"KP_{digit}": digit for digit in string.digits})
