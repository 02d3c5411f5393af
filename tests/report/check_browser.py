"""A report in headless Chromium: nothing on the console, nothing wider than the window, and something to see.

Usage: check_browser.py INTAGLIO FOLDER CHROMIUM; exit status 77 where there is no Chromium.
"""
import os
import re
import shutil
import struct
import subprocess
import sys
import zlib

# Pages are looked at in a frame of this width: a headless window is not narrower than 500 pixels. The numbers are left in the document:
# widths, plots and drawings, marks with words, trials (of a run), labels that begin left of their plot.
FRAME = """<!DOCTYPE html><body style="margin:0"><iframe id="f" src="%s" style="border:0;width:%dpx;height:900px"></iframe>
<script>f.onload = () => {
  const page = f.contentDocument, root = page.documentElement;
  document.title = [root.clientWidth, root.scrollWidth, page.querySelectorAll('svg[role=img]').length,
    page.querySelectorAll('svg[role=img] title').length, JSON.parse(page.querySelector('script').textContent).trials || 0,
    [...page.querySelectorAll('svg[role=img] text')].filter(t => t.getBBox().x < 0 && !t.hasAttribute('transform')).length].join(' ');
};</script></body>"""


def chromium(program, profile, *words):
    command = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--allow-file-access-from-files",
               "--enable-logging=stderr", "--user-data-dir=" + profile, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not console, "on the console: %s" % console
    assert done.returncode == 0, done.stderr
    return done.stdout


def colours(path):
    """How many colours a PNG of 8 bits a channel shows, one pixel of 16."""
    data = open(path, "rb").read()
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    assert depth == 8 and kind in (2, 6), (depth, kind)
    at, packed = 8, b""
    while at < len(data):
        (length,) = struct.unpack(">I", data[at:at + 4])
        if data[at + 4:at + 8] == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += length + 12
    size = (3 if kind == 2 else 4)
    raw, row = zlib.decompress(packed), width * size + 1
    assert len(raw) == row * height
    # Filters are left as they are: a page without content has equal bytes with any of them.
    return len({raw[y * row + 1 + x:y * row + 1 + x + size] for y in range(0, height, 4) for x in range(0, width * size, 4 * size)})


def check_width(program, folder, page, width, plots, trials):
    with open(os.path.join(folder, "frame.html"), "w") as file:
        file.write(FRAME % (page, width))
    document = chromium(program, os.path.join(folder, "profile"), "--window-size=1300,1000", "--virtual-time-budget=5000", "--dump-dom",
                        "file://%s/frame.html" % folder)
    found = re.search(r"<title>([\d ]+)</title>", document)
    assert found, "%s did not load: %s" % (page, document[:300])
    numbers = dict(zip(("client", "scroll", "plots", "marks", "trials", "outside"), map(int, found.group(1).split())))
    assert numbers["client"] == width and numbers["scroll"] <= width, (page, width, numbers)
    assert numbers["plots"] == plots and numbers["trials"] == trials and numbers["marks"] > 15, (page, numbers)
    assert numbers["outside"] == 0, (page, numbers)


def main():
    intaglio, folder, program = sys.argv[1:4]
    if not program or program.endswith("NOTFOUND") or not os.path.exists(program):
        print("no Chromium is installed: reports were not looked at")
        return 77
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    log, strategy = os.path.join(folder, "runs.db"), os.path.join(folder, "s.json")
    images, model = "examples/digits_search_images.npy", "examples/digits.onnx"
    subprocess.run([intaglio, "search", model, "--hw", "cortex-m", "--scale", "1/255", "--data", images, "--labels",
                    "examples/digits_search_labels.npy", "--trials", "16", "--quiet", "--db", log, "-o", strategy],
                   stdout=subprocess.DEVNULL)
    subprocess.run([intaglio, "sensitivity", model, "--hw", "cortex-m", "--scale", "1/255", "--data", images, "--quiet", "--db", log],
                   stdout=subprocess.DEVNULL, check=True)
    for page, words, plots, trials in (("run.html", ["1", "--db", log], 4, 16),
                                       ("network.html", [model, strategy, "--data", images, "--explain", "--quiet"], 4 + 15, 0)):
        report = os.path.join(folder, page)
        subprocess.run([intaglio, "report", *words, "-o", report], check=True, stdout=subprocess.DEVNULL)
        for width in (400, 1280):
            check_width(program, folder, page, width, plots, trials)
        for scheme in ("light", "dark"):
            picture = os.path.join(folder, page + "." + scheme + ".png")
            chromium(program, os.path.join(folder, "profile"), "--window-size=1280,2000", "--screenshot=" + picture,
                     "--blink-settings=preferredColorScheme=%d" % (scheme == "light"), "file://" + report)
            assert colours(picture) > 50, picture
    for part, words in (("front", ["1", "--db", log]), ("network", [model, strategy])):
        drawing, picture = os.path.join(folder, part + ".svg"), os.path.join(folder, part + ".png")
        subprocess.run([intaglio, "report", *words, "--part", part, "-o", drawing], check=True, stdout=subprocess.DEVNULL)
        chromium(program, os.path.join(folder, "profile"), "--window-size=1280,1000", "--screenshot=" + picture, "file://" + drawing)
        assert colours(picture) > 20, picture
    shutil.rmtree(os.path.join(folder, "profile"), ignore_errors=True)
    print("reports are whole at 400 and 1280 pixels, light and dark")
    return 0


sys.exit(main())
