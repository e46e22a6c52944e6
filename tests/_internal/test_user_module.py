"""Users' files are imported as they are now."""

import os
import sys

from sofa_softctl._internal.user_module import import_file


def test_a_file_edited_within_a_second_is_imported_as_it_is(tmp_path, monkeypatch):
    """With the same size and time, by which Python knows bytecode; none is left beside it."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    file, found = tmp_path / "edited.py", []
    for value in (1, 2, 1):
        file.write_text(f"VALUE = {value}\n")
        os.utime(file, (1e9, 1e9))
        found.append(import_file(file, "some").VALUE)
    assert found == [1, 2, 1]
    assert list(tmp_path.iterdir()) == [file]
