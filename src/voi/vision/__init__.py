"""Images -> regions: boxes found or given, a vector for each, all in one file (docs/captions.md).

Reading images needs Pillow (`pip install 'voi[vision]'`), Faster R-CNN `voi[detector]` and
EfficientNet `voi[efficientnet]`; none is loaded before it is used.
"""
