"""Real files and embedded tasks -> Example(source, target)."""

from voi.data.example import Example, ImageTask, Regions, Source, Task, grouped

__all__ = ["Example", "ImageTask", "Regions", "Source", "Task", "grouped"]
