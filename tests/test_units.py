import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.units import Units, symbol


@pytest.mark.parametrize(
    ("declared", "force", "pressure", "energy"),
    [
        ("m, kg, s", "N", "Pa", "J"),
        ("mm, kg, s", "mN", "kPa", "uJ"),
        ("mm, t, s", "N", "MPa", "mJ"),
        ("cm, g, s", "1e-5 N", "1e-1 Pa", "1e-7 J"),
    ],
)
def test_derived_units_follow_from_length_mass_and_time(declared, force, pressure, energy):
    units = Units.parse(declared)
    assert units.symbol("force") == force
    assert units.symbol("pressure") == pressure
    assert units.symbol("energy") == energy


def test_a_force_in_si_is_mass_times_length_over_time_squared():
    assert Units("mm", "kg", "s").in_si("force") == pytest.approx(1e-3)
    assert Units("mm", "g", "ms").in_si("force") == pytest.approx(1.0)


def test_without_a_declaration_the_quantity_names_itself():
    assert symbol(None, "length") == "length"
    assert symbol(Units("mm", "kg", "s"), "length") == "mm"
    assert symbol(Units("mm", "kg", "s"), "lambda") == "lambda"


def test_other_declarations_are_refused():
    with pytest.raises(SceneError, match="UNITS must be a length"):
        Units.parse("mm, s, kg")
    with pytest.raises(SceneError, match="Got: 'mm'"):
        Units.parse("mm")
    with pytest.raises(SceneError, match="UNITS must be a length.*Got: '{'length': 'mm'}'"):
        Units.parse({"length": "mm"})
