"""Goals of inverse control: functions of time, plausibility at the start, verdict at the end."""
