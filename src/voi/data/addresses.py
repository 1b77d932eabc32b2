"""Where data sets are published, and the checksums their publishers or first readers recorded."""

from collections.abc import Mapping

from voi.data.download import Download

_DJANGO = (
    "https://raw.githubusercontent.com/xuanlinli17/autoregressive_inference/"
    "7d8a3b25640edb58051a6472dc8dfc2bb378f4d8/django_data/"
)
_STATMT = "http://data.statmt.org/"
_OPUS = "https://object.pouta.csc.fi/OPUS-SETIMES/v2/tmx/"
_DRIVE = "https://drive.usercontent.google.com/download?export=download&confirm=t&id="
_COCO = "http://images.cocodataset.org/"

# Django's are of the files themselves, byte for byte as the authors of the paper published them;
# the others are those that the library of TensorFlow data sets and the Hugging Face hub recorded.
DOWNLOADS: Mapping[str, tuple[Download, ...]] = {
    "django": tuple(
        Download(name, _DJANGO + name, sha256)
        for name, sha256 in (
            (
                "src_raw_train.txt",
                "cef2dfee305b9819def297d37a14001187e2bdde1a1fb4301c45796b96b4e0dd",
            ),
            (
                "tgt_raw_train.txt",
                "70adc82499e6bdb281803e6408058b4359aa13a7205ccb801c4af25ee91702a3",
            ),
            ("src_raw_dev.txt", "e51c346f060f6e923da72cff87933df3a78e4664f2b77447a39f8814c57be238"),
            ("tgt_raw_dev.txt", "2db04d1c71885864a22b63b1f379aa7f0140923dcb07c20d5ba12842e01bd0a1"),
            (
                "src_raw_test.txt",
                "00606fb5744448ed2da228f6a0f34077fa0c2d37db995ecad7fe7f6ba395294b",
            ),
            (
                "tgt_raw_test.txt",
                "2b7d9405d39687ccee8920e709c0e54d32a35fa48f36ae2029469b642f240ab9",
            ),
        )
    ),
    "gigaword": (
        Download(
            "ggw_data.zip",
            _DRIVE + "1USoQ8lJgN8kAWnUnRrupMGrPMLlDVqlV",
            "bc0c4a2e1aa19cf2123688b87bc2d778c0d8fc24a4090e3c10a27c5faa1b898b",
        ),
    ),
    "wmt16-ro-en": (
        Download(
            "training-parallel-ep-v8.tgz",
            _STATMT + "wmt16/translation-task/training-parallel-ep-v8.tgz",
            "8917bd3bef3bc894c8519ca1f8a4c7c330aad08a1263655a9d99ee13d532e3c7",
        ),
        Download(
            "en-ro.tmx.gz",
            _OPUS + "en-ro.tmx.gz",
            "56bfaa2a8c8bdfccb7b50cc926067e2291347d807004e81faab8762ddbf26302",
        ),
        Download(
            "dev.tgz",
            _STATMT + "wmt19/translation-task/dev.tgz",
            "7a7deccf82ebb05ba508dba5eb21356492224e8f630ec4f992132b029b4b25e7",
        ),
    ),
    "coco": (
        Download(
            "annotations_trainval2017.zip",
            _COCO + "annotations/annotations_trainval2017.zip",
            "113a836d90195ee1f884e704da6304dfaaecff1f023f49b6ca93c4aaae470268",
        ),
        Download(
            "val2017.zip",
            _COCO + "zips/val2017.zip",
            "4f7e2ccb2866ec5041993c9cf2a952bbed69647b115d0f74da7ce8f4bef82f05",
        ),
        Download(
            "train2017.zip",
            _COCO + "zips/train2017.zip",
            "69a8bb58ea5f8f99d24875f21416de2e9ded3178e903f1f7603e283b9e06d929",
        ),
    ),
}
