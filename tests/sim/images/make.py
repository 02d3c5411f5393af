"""The images of this folder and what a reader must make of them: python3 make.py, with Pillow and numpy.

Expected arrays come from Pillow alone: convert, resize(BILINEAR), and torchvision's Resize(S) and CenterCrop, which are a few lines."""
import os
import numpy as np
from PIL import Image

here = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(5)


def picture(height, width, channels):
    """Slopes, an edge and noise."""
    y, x = np.mgrid[0:height, 0:width]
    planes = [(3 * x + 5 * y + 40 * c + rng.integers(0, 60, (height, width)) + 90 * (x > width // 2)) % 256 for c in range(channels)]
    return np.stack(planes, -1).astype(np.uint8)


def save(path, image, **options):
    os.makedirs(os.path.dirname(os.path.join(here, path)), exist_ok=True)
    image.save(os.path.join(here, path), **options)


def png16(path, pixels):
    """16 bits a channel, which Pillow does not write."""
    import struct, zlib
    height, width, _ = pixels.shape
    low = rng.integers(0, 256, pixels.shape)
    raw = b"".join(b"\0" + (pixels[y].astype(">u2") * 256 + low[y]).astype(">u2").tobytes() for y in range(height))
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    with open(os.path.join(here, path), "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))


save("classes/ant/1.png", Image.fromarray(picture(31, 20, 3)))
save("classes/ant/2.jpg", Image.fromarray(picture(24, 40, 3)), quality=80)
save("classes/bee/only.png", Image.fromarray(picture(17, 33, 1)[..., 0]))
save("classes/cat/a.png", Image.fromarray(picture(12, 10, 3)).quantize(16))
png16("classes/cat/b.PNG", picture(13, 19, 3))
save("classes/cat/c.jpeg", Image.fromarray(picture(50, 21, 1)[..., 0]), quality=90)
save("flat/10.png", Image.fromarray(picture(6, 5, 4), "RGBA"))
save("flat/9.png", Image.fromarray(picture(6, 5, 3)))
order = ["ant/1.png", "bee/only.png", "cat/a.png", "ant/2.jpg", "cat/b.PNG", "cat/c.jpeg"]
np.save(os.path.join(here, "classes.npy"), np.array([0, 1, 2, 0, 2, 2]))


def resize(image, width, height):
    """Columns first: one call leaves the order to Pillow, which 13 chooses by size."""
    return image.resize((width, image.height), Image.BILINEAR).resize((width, height), Image.BILINEAR)


def expected(name, files, channels, height, width, shorter, last):
    samples = []
    for file in files:
        image = Image.open(os.path.join(here, file))
        image = image.convert("L" if channels == 1 else "RGB")
        if shorter:
            w, h = image.size
            size = (shorter, int(shorter * h / w)) if w <= h else (int(shorter * w / h), shorter)
            image = resize(image, *size)
            w, h = image.size
            left, top = round((w - width) / 2), round((h - height) / 2)
            image = image.crop((left, top, left + width, top + height))
        else:
            image = resize(image, width, height)
        array = np.asarray(image).reshape(height, width, channels)
        samples.append(array if last else array.transpose(2, 0, 1))
    np.save(os.path.join(here, name), np.stack(samples))


classes = ["classes/" + file for file in order]
expected("classes_3x12x10.npy", classes, 3, 12, 10, 0, False)
expected("classes_40x16x3.npy", classes, 3, 40, 16, 0, True)
expected("classes_1x15x16@17.npy", classes, 1, 15, 16, 17, False)
expected("classes_9x8x3@12.npy", classes, 3, 9, 8, 12, True)
expected("flat_3x6x5.npy", ["flat/10.png", "flat/9.png"], 3, 6, 5, 0, False)
