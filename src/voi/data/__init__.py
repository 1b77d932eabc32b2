"""Real files and embedded tasks -> Example(source, target)."""

from voi.data.example import Example, Regions, Source, Task

__all__ = ["Example", "Regions", "Source", "Task"]
