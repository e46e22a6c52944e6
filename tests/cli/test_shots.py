"""Pictures and movies of runs and of recordings."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

SCENE = Path(__file__).parents[2] / "scenes" / "finger.py"


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """A recording of 30 steps of the finger."""
    from sofa_softctl.record.file import RecordFile
    from sofa_softctl.scene.session.session import Session

    path = tmp_path_factory.mktemp("record") / "finger.mcap"
    session = Session(SCENE, backend="embedded")
    with RecordFile(path) as file, session.recording(file), session:
        for _ in range(30):
            session.step()
    return path


def test_a_run_has_a_picture_in_any_size(tmp_path, softctl):
    path = tmp_path / "finger.png"
    command = ("run", SCENE, "--backend", "embedded", "--steps", 3, "--picture", path)
    status, out, err = softctl(*command, "--size", "300x400", "--camera", "left", "--transparent")
    assert status in (0, 3), err
    assert f"Picture: {path}" in out.replace("\n", "")
    with Image.open(path) as picture:
        assert (picture.size, picture.mode) == ((300, 400), "RGBA")


def test_a_run_has_movie_and_picture_of_one_size(tmp_path, softctl):
    files = ("--movie", tmp_path / "m.gif", "--picture", tmp_path / "p.png", "--picture-time", "0")
    softctl("run", SCENE, "--backend", "embedded", "--steps", 30, *files, "--size", "160x120", "-q")
    with Image.open(tmp_path / "m.gif") as film, Image.open(tmp_path / "p.png") as picture:
        assert film.size == picture.size == (160, 120)
        first = np.asarray(film.convert("RGB")).astype(int)
        difference = np.abs(first - np.asarray(picture)).mean()
        film.seek(film.n_frames - 1)
        last = np.asarray(film.convert("RGB")).astype(int)
        assert difference < np.abs(last - np.asarray(picture)).mean()


@pytest.mark.parametrize("name", ["f.png", "f.jpg", "f.gif", "f.mp4"])
def test_a_recording_has_a_picture_or_a_movie(record, tmp_path, softctl, name):
    if name.endswith("mp4"):
        pytest.importorskip("imageio_ffmpeg", reason="needs the extra [view]")
    path = tmp_path / name
    status, out, err = softctl("record", "export", record, "--to", path, "--size", "80x60")
    assert status == 0, err
    assert path.stat().st_size > 500
    assert str(path) in out.replace("\n", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--picture", "a.png", "--size", "10"], "--size needs WIDTHxHEIGHT in pixels"),
        (["--picture", "a.png", "--size", "10x"], "such as 1920x1080; got '10x'"),
        (["--movie", "a.gif", "--size", "0x0"], "from 16 to 16384 pixels wide and high. Got: 0x0"),
        (["--size", "100x100"], "--size is of a movie or a picture: give --movie FILE or"),
        (["--camera", "top"], "--camera is a view: give --movie FILE or --picture FILE too"),
        (["--picture", "a.png", "--camera", "up"], "--camera: expected auto, front, right"),
        (["--picture", "a.jpgx"], "A picture needs a name in .png, .jpg or .jpeg, got 'a.jpgx'"),
        (["--picture", "a.jpg", "--transparent"], "transparent background needs a name in .png"),
        (["--movie", "a.gif", "--transparent"], "--transparent is for a picture"),
        (["--movie", "a.gif", "--picture-time", "1"], "--picture-time is for a picture"),
        (["--picture", "a.png", "--picture-time", "nan"], "--picture-time needs a finite time"),
        (["--picture", "a.png", "--plot", "a.png"], "--picture would overwrite 'a.png'"),
        (["--plot", "a.svgz"], "A plot needs a name in .png, .svg or .pdf, got 'a.svgz'"),
    ],
)
def test_options_that_cannot_be_met_are_refused_before_the_run(
    options, message, tmp_path, softctl, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    status, _, err = softctl("run", tmp_path / "missing.py", *options)
    assert status == 2
    assert message in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "a.csv", "--size", "80x60"], "give --to FILE.png or FILE.mp4 too"),
        (["--to", "a.png", "--every", "2"], "leave out --channel, --stream and --every"),
        (["--to", "a.bmp"], "expected a name in .csv, .npz, .pvd, .png, .jpg, .gif or .mp4"),
    ],
)
def test_an_export_that_cannot_be_made_is_refused(
    options, message, record, tmp_path, softctl, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    status, _, err = softctl("record", "export", record, *options)
    assert status != 0
    assert message in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["p.svg", "p.pdf"])
def test_plots_are_drawn_as_vectors(tmp_path, softctl, name):
    path = tmp_path / name
    status, _, err = softctl("run", SCENE, "--backend", "embedded", "--steps", 3, "--plot", path)
    assert status in (0, 3), err
    assert path.read_bytes()[:5] in (b"<?xml", b"%PDF-")
