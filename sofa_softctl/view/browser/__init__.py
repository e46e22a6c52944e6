"""A page in the browser that shows a session or a recording, by viser (extra [view])."""
