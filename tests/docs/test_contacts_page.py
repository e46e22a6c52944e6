"""docs/how-to/choose-contacts.md: its code runs, and its numbers are what the runtime gives."""

import importlib.util

import numpy as np
import pytest

from tests.docs.pages import DOCS, run


@pytest.fixture(scope="module")
def page(embedded):
    """What the page's code defines, and that of the page that leads to it."""
    return run("how-to/choose-contacts", "how-to/control-through-contacts")


@pytest.fixture(scope="module")
def embedded():
    from sofa_softctl.scene.backend.backend import find_backend

    return find_backend("embedded").Sofa


@pytest.fixture(scope="module")
def picture(embedded):
    """The script that makes the page's picture."""
    spec = importlib.util.spec_from_file_location(
        "contacts_picture", DOCS / "figures" / "contacts.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_scene_and_the_ways_to_read_contacts_work(embedded, page):
    """Two marbles of 10 g come to rest: the ground carries 20 g times g, and the listener hears
    both of them at the contact distance."""
    root = embedded.Core.Node("root")
    page["createScene"](root)
    scale = root.addObject(page["Scale"](root))
    listener = page["listen"](root)
    page["add_friction"](root)
    embedded.Simulation.init(root)
    for _ in range(20):
        embedded.Simulation.animate(root, root.dt.value)
    assert scale.weight == pytest.approx(20.0 * 9810.0, rel=1e-6)
    assert listener.getNumberOfContacts() == 2
    assert listener.getDistances() == pytest.approx([0.0, 0.0], abs=1e-6)
    assert root.marbles.dofs.position.value[:, 2] == pytest.approx(6.0, abs=1e-6)


def test_cones_widened_by_a_hundredth_keep_flat_bodies_up(picture):
    """Without: nodes of the flat underside go below the contact distance, by micrometres of the
    40 mm, as rounding drops their contacts. With: by what the solver's tolerance leaves."""
    without, _ = picture.heights(40, "LocalMinDistance")
    widened, _ = picture.heights(40, "LocalMinDistance", angleCone=0.01)
    assert without[20:].min() < -1e-3
    assert widened[20:].min() > -1e-4


def test_an_edge_inside_the_floor_stops_only_what_sees_it(picture):
    """A block over the edge between two coplanar triangles: Coulomb's law to 1e-3, after its
    landing, with cones or without the floor's lines, and no longer with lines and without cones."""
    cones = picture.pulls(40, "LocalMinDistance", angleCone=0.01)
    no_lines = picture.pulls(40, "MinProximityIntersection", lines=False)
    bumps = picture.pulls(40, "MinProximityIntersection")
    assert cones[20:] == pytest.approx(1.0, abs=1e-3)
    assert no_lines[20:] == pytest.approx(1.0, abs=1e-3)
    assert np.abs(bumps[20:] - 1.0).max() > 0.5
