"""The fixtures of labs and checks."""

from tests.live import built, check, engine, fault, lab, start

__all__ = ["built", "check", "engine", "fault", "lab", "start"]
