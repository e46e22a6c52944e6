"""Data: what texts and values become, what is refused and where, views, links and parents."""

import inspect
import math

import numpy as np
import pytest

from sofa_softctl.errors import LinkError, SceneError, UnknownDataError
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data import types as data_types
from sofa_softctl.runtime.helper.message import complaints, warnings_as_errors


class Sample(Component):
    """One Data of each type."""

    flag = data_types.Bool(False, "A switch.")
    count = data_types.Int(3, "A number of things.")
    steps = data_types.UInt(3, "A number from 0 on.")
    stiffness = data_types.Real(2.5, "A number.", unit="force/length", aliases=("k", "rigidity"))
    label = data_types.Text("none", "A text.")
    mode = data_types.Choice("fast", "A choice.", choices=("fast", "exact"))
    words = data_types.Texts([], "Words.")
    values = data_types.Reals([1.0], "Numbers.")
    indices = data_types.Integers([0], "Whole numbers.")
    cells = data_types.Counts(3, [2, 2, 2], "Whole numbers along three axes.")
    axis = data_types.Vector(3, [0, 0, 1], "A direction.")
    turn = data_types.Matrix(4, [1, 0, 0, 1], "A matrix.")
    fixed = data_types.Bools(3, [1, 1, 0], "Switches.")
    points = data_types.Vectors(3, [], "Points.")
    triangles = data_types.Elements(3, [], "Triangles.")
    result = data_types.Reals([], "An output.", read_only=True)
    total = data_types.Real(0.0, "Sum of the values.", computed=True)

    def update_outputs(self):
        self.total.set(float(self.values.get().sum()))


@pytest.fixture
def sample(root):
    return root.addObject(Sample(name="sample"))


def here(offset=0):
    """`file:line` of the caller's line, as errors give it."""
    frame = inspect.currentframe().f_back
    return f"test_data.py:{frame.f_lineno + offset}"


GIVEN = [
    ("flag", "1", True),
    ("flag", "true", True),
    ("flag", " False ", False),
    ("flag", 1, True),
    ("flag", np.bool_(True), True),
    ("count", "7", 7),
    ("count", " -7 ", -7),
    ("count", 7.0, 7),
    ("count", np.int32(7), 7),
    ("count", [7], 7),
    ("count", 2**53 + 1, 2**53 + 1),
    ("count", str(2**53 + 1), 2**53 + 1),
    ("stiffness", "1e3", 1000.0),
    ("stiffness", "inf", np.inf),
    ("stiffness", [4], 4.0),
    ("stiffness", np.float32(0.5), 0.5),
    ("stiffness", np.array([[4.0]]), 4.0),
    ("label", "two words", "two words"),
    ("label", 3, "3"),
    ("label", ["Sofa.Component", "SoftRobots"], "Sofa.Component SoftRobots"),
    ("mode", "exact", "exact"),
    ("mode", 1, "exact"),
    ("mode", "1", "exact"),
    ("words", "left  right", ["left", "right"]),
    ("words", ("left", "right"), ["left", "right"]),
    ("words", "", []),
    ("values", "1 2.5 -3e-2", [1.0, 2.5, -0.03]),
    ("values", 4, [4.0]),
    ("values", [[1, 2], [3, 4]], [1.0, 2.0, 3.0, 4.0]),
    ("values", ["1 2", "3"], [1.0, 2.0, 3.0]),
    ("values", range(3), [0.0, 1.0, 2.0]),
    ("values", [], []),
    ("values", "", []),
    ("indices", "0-3 7", [0, 1, 2, 3, 7]),
    ("indices", "3-0", [3, 2, 1, 0]),
    ("indices", "0-6-3", [0, 3, 6]),
    ("indices", "6-0-3", [0, 3, 6]),
    ("indices", "6-0--3", [6, 3, 0]),
    ("indices", "-1", [-1]),
    ("indices", "-2-1", [-2, -1, 0, 1]),
    ("indices", "\n 4\t5 ", [4, 5]),
    ("indices", ["0-2", 5], [0, 1, 2, 5]),
    ("indices", [1.0, 2.0], [1, 2]),
    ("indices", np.array([3, 4], dtype=np.uint8), [3, 4]),
    ("axis", "1 0 0", [1.0, 0.0, 0.0]),
    ("axis", (1, 0, 0), [1.0, 0.0, 0.0]),
    ("axis", [[1], [0], [0]], [1.0, 0.0, 0.0]),
    ("fixed", "1 0 1", [True, False, True]),
    ("fixed", [True, False, True], [True, False, True]),
    ("points", "0 1 2 3 4 5", [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]),
    ("points", [0, 1, 2], [[0.0, 1.0, 2.0]]),
    ("points", ["0 1 2", "3 4 5"], [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]),
    ("points", np.arange(6).reshape(2, 3), [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]),
    ("points", np.zeros((0, 3)), []),
    ("triangles", "0 1 2 2 1 3", [[0, 1, 2], [2, 1, 3]]),
    ("triangles", [[0, 1, 2]], [[0, 1, 2]]),
    ("triangles", [], []),
]


@pytest.mark.parametrize(("name", "given", "expected"), GIVEN)
def test_values_and_texts_are_taken_as_sofa_takes_them(sample, name, given, expected):
    data = sample.findData(name)
    for _ in range(2):  # again over a value of the same shape
        data.value = given
        value = data.value
        found = value.tolist() if isinstance(value, np.ndarray) else value
        assert found == expected
        assert type(found) is type(expected)
    assert data.isSet()


WRONG = [
    ("flag", "yes", "takes True or False, got 'yes' (neither true nor false)"),
    ("flag", 2, "takes True or False, got 2"),
    ("flag", [True, False], "takes True or False, got [True, False] (2 values)"),
    ("count", "2.5", "takes one whole number, got '2.5'"),
    ("count", 2.5, "takes one whole number, got 2.5 (not a whole number)"),
    ("count", "inf", "takes one whole number, got 'inf'"),
    ("count", np.inf, "takes one whole number, got inf"),
    ("count", "many", "takes one whole number, got 'many'"),
    ("count", object, "takes one whole number, got <class 'object'>"),
    ("stiffness", "1,5", "takes one number, got '1,5'"),
    ("stiffness", "1 2", "takes one number, got '1 2'"),
    ("stiffness", "", "takes one number, got ''"),
    ("stiffness", [1, 2], "takes one number, got [1, 2] (2 values)"),
    ("stiffness", None, "takes one number, got None"),
    ("stiffness", {"a": 1}, "takes one number, got {'a': 1}"),
    ("stiffness", "nan", "takes one number, got 'nan' (NaN)"),
    ("stiffness", float("nan"), "takes one number, got nan (NaN)"),
    ("mode", "slow", "takes one of 'fast', 'exact', got 'slow'"),
    ("mode", 2, "takes one of 'fast', 'exact', got 2"),
    ("mode", -1, "takes one of 'fast', 'exact', got -1"),
    ("mode", 0.5, "takes one of 'fast', 'exact', got 0.5"),
    ("words", 3, "takes a list of texts, got 3"),
    ("values", "1,2", "takes a list of numbers, got '1,2'"),
    ("values", [1.0, float("nan")], "takes a list of numbers, got [1.0, nan] (NaN)"),
    ("indices", "0-", "takes a list of whole numbers, got '0-'"),
    ("indices", "0-4-0", "takes a list of whole numbers, got '0-4-0'"),
    ("indices", "1.5", "takes a list of whole numbers, got '1.5'"),
    ("indices", [0, 1.5], "takes a list of whole numbers, got [0, 1.5] (not whole numbers)"),
    ("indices", [np.inf], "takes a list of whole numbers, got [inf]"),
    ("indices", [np.nan], "takes a list of whole numbers, got [nan]"),
    ("indices", [1e30], "takes a list of whole numbers, got [1e+30]"),
    ("indices", "99999999999999999999", "takes a list of whole numbers"),
    ("axis", [1, 0], "takes 3 numbers, got [1, 0] (2 numbers)"),
    ("axis", "1 0 0 0", "takes 3 numbers, got '1 0 0 0' (4 numbers)"),
    ("fixed", [1, 0, 2], "takes 3 times 1 or 0, got [1, 0, 2]"),
    ("fixed", [1, 0], "takes 3 times 1 or 0, got [1, 0] (2 entries)"),
    ("points", "0 1", "takes a list of vectors of 3 numbers, got '0 1' (2 numbers)"),
    ("points", np.zeros((3, 2)), "takes a list of vectors of 3 numbers"),
    ("points", [[0, 0, np.nan]], "(NaN)"),
    ("triangles", [[0, 1]], "takes a list of 3 vertex numbers each, got [[0, 1]]"),
    ("triangles", [[0, 1, 2, 3]] * 3, "(shape (3, 4))"),
    ("triangles", [[0, 1, "x"]], "takes a list of 3 vertex numbers each"),
]


AS_SOFA = [
    ("count", "7-3", 7),
    ("count", "many", 0),
    ("stiffness", "10-3", 10.0),
    ("stiffness", "soft", 0.0),
    ("flag", "Truth", True),
    ("flag", 7, True),
    ("flag", "on", False),
    ("mode", "slow", "fast"),
    ("values", "1 2 x 4", [1.0, 2.0]),
    ("values", "1,2", [1.0]),
    ("indices", "3 x 5.5", [3, 0, 5]),
    ("axis", "1 2", [1.0, 2.0, 1.0]),
    ("axis", [1, 2, 3, 4], [1.0, 2.0, 3.0]),
    ("axis", "4 x 3", [4.0, 0.0, 1.0]),
    ("axis", "4,2,3", [4.0, 0.0, 1.0]),
    ("points", "1 2 3 4", [[1.0, 2.0, 3.0]]),
    ("points", [[1, 2, 3, 4]] * 3, np.reshape([1.0, 2, 3, 4] * 3, (4, 3))),
    ("triangles", "0 1 2 3", [[0, 1, 2]]),
    ("count", "1e999", 1),
    ("count", math.inf, 0),
    ("indices", "1e999 99999999999999999999", [1, 2**63 - 1]),
    ("indices", "0-9999999999", [0]),
    ("triangles", "0 1 2e99", [[0, 1, 2]]),
]
"""What SOFA makes of a value that it cannot read whole: the first part, or what was there."""


@pytest.mark.parametrize(("name", "given", "expected"), AS_SOFA)
def test_a_value_that_does_not_fit_is_read_as_far_as_sofa_reads_it(
    sample, name, given, expected, tolerant, caplog
):
    setattr(sample, name, given)
    np.testing.assert_array_equal(sample.findData(name).value, expected)
    assert "takes" in caplog.text


NESTED = [
    ("values", [[1, 2], [3]], [1.0, 2.0, 3.0]),
    ("values", [(1, "2 3"), np.array([4.0])], [1.0, 2.0, 3.0, 4.0]),
    ("points", [[[1, 2, 3], [4, 5, 6]]], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
    ("points", [[1, 2, 3, 4, 5, 6]], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
    ("axis", [[1], [2], [3]], [1.0, 2.0, 3.0]),
    ("indices", [[0, 1], [2]], [0, 1, 2]),
    ("label", ("a", ["b", 2]), "a b 2"),
]
"""Lists nested in any way, of which only the order counts."""


@pytest.mark.parametrize(("name", "given", "expected"), NESTED)
def test_lists_may_be_nested_in_any_way(sample, name, given, expected):
    setattr(sample, name, given)
    np.testing.assert_array_equal(sample.findData(name).value, expected)


def test_a_data_may_stand_inside_a_list(sample):
    sample.stiffness = 4.0
    sample.values = [1.0, sample.stiffness, [sample.axis]]
    np.testing.assert_array_equal(sample.values.value, [1.0, 4.0, 0.0, 0.0, 1.0])


def test_a_data_with_a_length_is_true_unless_it_is_empty(sample):
    sample.label = ""
    assert not sample.label
    assert not sample.points
    assert sample.indices
    sample.count = 0
    assert sample.count  # a number's Data has no length


@pytest.mark.parametrize(("name", "given", "message"), WRONG)
def test_a_value_that_does_not_fit_is_refused_at_its_line_and_the_old_one_stays(
    sample, name, given, message
):
    data = sample.findData(name)
    before = np.copy(data.value)
    with pytest.raises(SceneError) as caught:
        data.value = given
    line = here(-1)
    assert line in str(caught.value)
    assert f"'{name}' of Sample '/sample' {message}" in str(caught.value) or (
        message.startswith("(") and message in str(caught.value)
    )
    assert np.array_equal(data.value, before)
    assert not data.isSet()


def test_a_wrong_value_at_creation_names_the_line_of_the_scene(root):
    with pytest.raises(SceneError) as caught:
        root.addObject(
            "UniformMass",
            name="mass",
            totalMass="heavy",
        )
    assert here(-5) in str(caught.value)
    assert "'totalMass' of UniformMass '/mass' takes one number, got 'heavy'" in str(caught.value)


def test_an_object_without_a_name_yet_is_told_by_its_class_and_node(root):
    with pytest.raises(SceneError, match=r"'totalMass' of UniformMass in '/' takes one number"):
        root.addObject("UniformMass", totalMass="heavy")


def test_defaults_are_fresh_for_every_object(root):
    one, other = root.addObject(Sample(name="one")), root.addObject(Sample(name="other"))
    with one.axis.writeable() as axis:
        axis[0] = 5.0
    assert other.axis.value.tolist() == [0.0, 0.0, 1.0]
    assert not one.stiffness.isSet()
    assert one.stiffness.value == 2.5


def test_a_data_knows_its_name_meaning_owner_and_path(sample):
    data = sample.stiffness
    assert data.getName() == "stiffness"
    assert data.getHelp() == "A number."
    assert data.getOwner() is sample
    assert data.getPathName() == "/sample.stiffness"
    assert data.getLinkPath() == "@/sample.stiffness"
    assert data.typeName() == "d"
    assert data.getValueString() == "2.5"
    assert sample.axis.getValueString() == "0 0 1"
    assert sample.fixed.getValueString() == "1 1 0"


@pytest.mark.parametrize(("name", "value"), [("result", [1.0]), ("total", 3.0)])
def test_outputs_cannot_be_set_nor_written(sample, name, value):
    data = sample.findData(name)
    assert data.isReadOnly()
    message = f"'{name}' of /?sample is computed by the component and cannot be set"
    with pytest.raises(SceneError, match=message):
        data.value = value
    with pytest.raises(SceneError, match=message):
        setattr(sample, name, value)
    with pytest.raises(SceneError, match=message):
        Sample(name="sample", **{name: value})
    with pytest.raises(SceneError, match=message), data.writeable() as array:
        array[:] = value


def test_computed_data_follow_what_they_are_computed_from(sample):
    sample.values.value = [1.0, 2.0]
    assert sample.total.value == 3.0


def test_an_output_that_is_set_counts_until_it_is_computed_anew(root, tolerant):
    """As in SOFA; also where the inputs have changed since it was last read."""
    engine = root.addObject("SumEngine", template="Vec1", input=[1.0, 2.0])
    engine.input.value = [3.0, 4.0]
    with complaints() as found:
        engine.output.value = [5.0]
    assert "'output' of /SumEngine is computed by the component and cannot be" in str(found[0])
    assert engine.output.value.ravel() == pytest.approx([5.0])
    engine.input.value = [3.0, 6.0]
    assert engine.output.value.ravel() == pytest.approx([9.0])


def test_a_value_is_a_read_only_view_that_follows_the_data(sample):
    sample.points.value = [[0, 0, 0], [1, 1, 1]]
    view = sample.points.value
    with pytest.raises(ValueError, match="read-only"):
        view[0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        sample.points.array()[0, 0] = 1.0
    sample.points.value = [[2, 2, 2], [3, 3, 3]]
    assert view[0, 0] == 2.0  # as in SofaPython3: the same memory


def test_what_was_given_is_copied(sample):
    given = np.zeros((2, 3))
    sample.points.value = given
    given[:] = 1.0
    assert not sample.points.value.any()


def test_writeable_gives_the_array_in_place_and_counts_as_a_change(sample):
    view, counter = sample.axis.value, sample.axis.getCounter()
    with sample.axis.writeable() as axis:
        axis[1] = 4.0
    with sample.axis.writeableArray() as axis:
        axis[2] = 5.0
    assert view.tolist() == [0.0, 4.0, 5.0]
    assert sample.axis.getCounter() == counter + 2


def test_a_number_has_no_array_to_write(sample):
    with pytest.raises(SceneError, match=r"sample\.stiffness is no array; use '\.value'"):
        sample.stiffness.writeable().__enter__()


def test_a_data_can_be_indexed_iterated_and_measured(sample):
    sample.values.value = [3.0, 4.0]
    assert sample.values[1] == 4.0
    assert list(sample.values) == [3.0, 4.0]
    assert len(sample.values) == 2
    assert sample.values.toList() == [[3.0], [4.0]]


def test_aliases_are_other_names_of_the_same_data(root):
    sample = root.addObject(Sample(name="sample", k=4.0))
    assert sample.stiffness.value == 4.0
    sample.rigidity = 5.0
    assert sample.k is sample.stiffness
    assert sample.findData("k") is sample.stiffness
    assert sample.getData("rigidity").value == 5.0


def test_setting_an_attribute_sets_the_data(sample):
    sample.count = 5
    sample.setDataValues(values=[2.0], label="x")
    assert (sample.count.value, sample.values.toList(), sample.label.value) == (5, [[2.0]], "x")


def test_an_unknown_data_names_the_close_one_and_where_all_are_listed(root):
    message = (
        r"test_data\.py:\d+: Sample '/?s' has no Data 'stifness'\. Did you mean 'stiffness'\? "
        r"'softctl components Sample' lists them\."
    )
    with pytest.raises(UnknownDataError, match=message):
        Sample(name="s", stifness=3.0)
    sample = root.addObject(Sample(name="s"))
    with pytest.raises(UnknownDataError, match=message):
        sample.getData("stifness")
    with pytest.raises(AttributeError, match=r"no attribute or Data 'stifness'\. Did you mean"):
        _ = sample.stifness
    assert sample.findData("stifness") is None
    assert not sample.hasData("stifness")


# -- links ---------------------------------------------------------------------------------------


def test_a_link_is_followed_at_once_and_follows_its_source(root):
    source = root.addObject(Sample(name="source", values=[1.0, 2.0]))
    child = root.addChild("child")
    sample = child.addObject(Sample(name="sample", values="@../source.values"))
    assert sample.values.toList() == [[1.0], [2.0]]
    assert sample.values.getParent() is source.values
    source.values.value = [5.0]
    assert sample.values.isDirty()
    assert sample.values.toList() == [[5.0]]
    with source.values.writeable() as values:
        values[0] = 6.0
    assert sample.values.toList() == [[6.0]]
    assert sample.values.isSet()


@pytest.mark.parametrize(
    "path",
    ["@source.values", "@./source.values", "@/source.values", "@child/../source.values"],
)
def test_a_path_starts_at_the_node_or_at_the_root(root, path):
    root.addChild("child")
    root.addObject(Sample(name="source", values=[7.0]))
    assert root.addObject(Sample(name="sample", values=path)).values.toList() == [[7.0]]


def test_a_link_to_the_node_itself(root):
    root.dt = 0.25
    assert root.addObject(Sample(name="sample", stiffness="@.dt")).stiffness.value == 0.25


def test_a_link_to_what_comes_later_is_followed_at_init(root, Sofa):
    sample = root.addObject(Sample(name="sample", values="@child/source.values"))
    assert sample.values.toList() == [[1.0]]  # the default, until init
    root.addChild("child").addObject(Sample(name="source", values=[8.0]))
    Sofa.Simulation.init(root)
    assert sample.values.toList() == [[8.0]]


def test_a_link_converts_between_types(root):
    root.addObject(Sample(name="source", values="0 1 2", label="4 5"))
    sample = root.addObject(Sample(name="sample", points="@source.values", indices="@source.label"))
    assert sample.points.toList() == [[0.0, 1.0, 2.0]]
    assert sample.indices.toList() == [[4], [5]]


def test_a_link_between_types_that_do_not_fit_is_refused_where_it_was_given(root):
    root.addObject(Sample(name="source", values=[0.5, 1.5]))
    sample = root.addObject(Sample(name="sample", indices="@source.values"))
    line = here(-1)
    with pytest.raises(SceneError) as caught:
        _ = sample.indices.value
    assert line in str(caught.value)
    assert (
        "'indices' of Sample '/sample' takes a list of whole numbers, got [0.5, 1.5] from "
        "'/source.values' (not whole numbers)"
    ) in str(caught.value)


def test_data_given_as_values_are_copied_and_their_paths_are_links(root):
    """As in SOFA: tests/parity/api.json."""
    source = root.addObject(Sample(name="source", values=[3.0]))
    sample = root.addObject(Sample(name="sample", values=source.values))
    sample.axis.value = source.axis
    source.values.value = [4.0]
    assert sample.values.toList() == [[3.0]]
    assert not sample.values.hasParent()
    assert not sample.axis.hasParent()
    for path in (source.values.getLinkPath(), source.values.linkpath):
        other = root.addObject(Sample(values=path))
        assert other.values.getParent() is source.values


def test_a_copy_of_what_is_computed_later_is_refused(root):
    source = root.addObject(Sample(name="source"))
    message = (
        r"'values' of Sample 'b' copies /source\.result, which is still empty: its component "
        r"fills it later\. Write values='@/source\.result' to follow it"
    )
    with pytest.raises(SceneError, match=message):
        root.addObject(Sample(name="b", values=source.result)).getName()


def test_set_parent_takes_data_paths_and_none(root):
    source = root.addObject(Sample(name="source", values=[3.0]))
    sample = root.addObject(Sample(name="sample"))
    for parent in (source.values, "@source.values", "source.values"):
        sample.values.setParent(parent)
        assert sample.values.toList() == [[3.0]]
        sample.values.setParent(None)
        assert not sample.values.hasParent()
        sample.values.value = [9.0]
        assert sample.values.toList() == [[9.0]]


def test_a_parent_must_be_a_data(root):
    sample = root.addObject(Sample(name="sample"))
    with pytest.raises(SceneError, match=r"'values' of Sample '/sample' takes its value from a "):
        sample.values.setParent(sample)


def test_data_that_follow_each_other_in_a_circle_are_refused(root):
    one = root.addObject(Sample(name="one"))
    two = root.addObject(Sample(name="two", values="@one.values"))
    for data in (one.values, two.values):
        with pytest.raises(SceneError, match=r"'values' of Sample '/one' would follow itself"):
            one.values.setParent(data)
    assert one.values.toList() == [[1.0]]


def test_a_value_given_after_a_link_that_led_nowhere_replaces_the_link(root, Sofa):
    sample = root.addObject(Sample(name="sample", values="@nowhere.values"))
    sample.values.value = [2.0]
    Sofa.Simulation.init(root)
    assert sample.values.toList() == [[2.0]]


def test_a_value_given_to_a_linked_data_stays_until_the_source_changes(root):
    """As SOFA's Data: the link is kept."""
    source = root.addObject(Sample(name="source", values=[1.0]))
    sample = root.addObject(Sample(name="sample", values="@source.values"))
    sample.values.value = [2.0]
    assert sample.values.toList() == [[2.0]]
    source.values.value = [3.0]
    assert sample.values.toList() == [[3.0]]


BROKEN = [
    ("@nowhere.values", "'nowhere' is not in node '/'. It holds: source, sample, loop, child."),
    ("@child/far/x.values", "'far' is not in node '/child'. It holds: inner."),
    ("@child/inner/x.values", "Sample '/child/inner' holds no objects, so 'x' cannot be in it."),
    ("@child/innr.values", "'innr' is not in node '/child'. It holds: inner."),
    ("@../source.values", "Node '/' has no parent."),
    ("@source.valeus", "Sample '/source' has no Data 'valeus'. Did you mean 'values'?"),
    ("@source", "It names no Data: write '@source.NAME'."),
]


@pytest.mark.parametrize(("path", "reason"), BROKEN)
def test_a_broken_link_says_at_which_step_and_what_there_is(root, Sofa, path, reason):
    root.addObject(Sample(name="source"))
    root.addObject(Sample(name="sample", values=path))
    line = here(-1)
    root.addObject("DefaultAnimationLoop", name="loop")
    root.addChild("child").addObject(Sample(name="inner"))
    with pytest.raises(LinkError) as caught:
        Sofa.Simulation.init(root)
    assert line in str(caught.value)
    assert f"'values' of Sample '/sample' links to '{path}', which does not exist. " in str(
        caught.value
    )
    assert reason in str(caught.value)


def test_a_broken_link_that_a_component_can_do_without_is_a_complaint(root, Sofa, tolerant):
    class Other(Component):
        optional = data_types.Integers([4], "Numbers.", optional_link=True)

    other = root.addObject(Other(name="other", optional="@nowhere.values"))
    with complaints() as found:
        Sofa.Simulation.init(root)
    assert "'optional' of Other '/other' links to '@nowhere.values', which" in str(found[0])
    assert other.optional.value.tolist() == [4] and not other.optional.hasParent()
    with warnings_as_errors(), pytest.raises(LinkError):
        root.addObject(Other(name="again", optional="@nowhere.values"))
        Sofa.Simulation.init(root)


def test_src_links_every_data_of_the_same_name_or_alias_that_was_not_given(root):
    source = root.addObject(Sample(name="source", values=[4.0], k=9.0, points="1 2 3", label="x"))
    sample = root.addObject(Sample(name="sample", src="@source", label="own"))
    assert sample.values.getParent() is source.values
    assert sample.stiffness.value == 9.0
    assert sample.points.toList() == [[1.0, 2.0, 3.0]]
    assert sample.label.value == "own"
    assert sample.getName() == "sample"
    assert not sample.result.hasParent()


def test_src_finds_the_loaders_data_by_an_alias_of_the_objects(root):
    class Other(Component):
        hardness = data_types.Real(0.0, "A number.", aliases=("toughness", "stiffness"))

    root.addObject(Sample(name="source", stiffness=7.0))
    assert root.addObject(Other(name="other", src="@source")).hardness.value == 7.0


def test_src_takes_a_path_without_at_and_the_object_itself(root):
    source = root.addObject(Sample(name="source", values=[4.0]))
    child = root.addChild("child")
    for number, src in enumerate(("@../source", "../source", source, source.getLinkPath())):
        sample = child.addObject("MeshTopology", name=f"m{number}", src=src)
        assert sample.hasData("position")
    with pytest.raises(SceneError, match=r"src='@nowhere' of MeshTopology '/mesh' leads nowhere"):
        root.addObject("MeshTopology", name="mesh", src="@nowhere")


def test_src_that_leads_nowhere_is_warned_of(root, tolerant):
    with complaints() as found:
        assert not len(root.addObject("MeshTopology", name="mesh", src="@../nowhere").position)
    assert "src='@../nowhere' of MeshTopology '/mesh' leads nowhere" in str(found[0])


def test_src_of_a_loader_fills_a_topology(root, tmp_path):
    (tmp_path / "two.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    root.addObject("MeshOBJLoader", name="loader", filename=str(tmp_path / "two.obj"))
    mesh = root.addObject("MeshTopology", name="mesh", src="@loader")
    assert mesh.triangles.toList() == [[0, 1, 2]]
    assert mesh.position.value.shape == (3, 3)


def test_src_does_not_take_over_how_a_loader_places_its_mesh(root, tmp_path):
    (tmp_path / "one.obj").write_text("v 1 0 0\nv 2 0 0\nv 1 1 0\nf 1 2 3\n")
    placing = {"translation": [10.0, 0.0, 0.0], "rotation": [0.0, 0.0, 90.0], "scale": 2.0}
    root.addObject("MeshOBJLoader", name="loader", filename=str(tmp_path / "one.obj"), **placing)
    state = root.addObject("MechanicalObject", src="@loader")
    region = root.addObject("BoxROI", src="@loader", box=[9.0, 1.0, -1.0, 11.0, 3.0, 1.0])
    root.init()
    assert state.position.value.round(12).tolist() == [
        [10.0, 2.0, 0.0],
        [10.0, 4.0, 0.0],
        [8.0, 2.0, 0.0],
    ]
    assert region.indices.toList() == [[0]]


# -- links to objects ----------------------------------------------------------------------------


def test_an_object_link_takes_a_path_or_the_object(root):
    body = root.addChild("body")
    dofs = body.addObject("MechanicalObject", name="dofs", position="0 0 0")
    for given in ("@/body/dofs", "@../body/dofs", dofs, dofs.getLinkPath()):
        link = root.addChild("other").addObject("UniformMass", mstate=given, totalMass=1.0).mstate
        assert link.getLinkedBase() is dofs
    assert link.getName() == "mstate"
    assert link.getHelp()


@pytest.mark.parametrize("given", [3, ["@/body/dofs"], 0.5])
def test_an_object_link_refuses_what_is_no_object(root, given):
    with pytest.raises(SceneError) as caught:
        root.addObject("UniformMass", name="mass", mstate=given)
    assert here(-1) in str(caught.value)
    assert "link 'mstate' of UniformMass '/mass' takes a path such as '@../dofs' or an" in str(
        caught.value
    )


def test_a_link_to_a_node_without_a_state_leads_to_the_state_around_it(root):
    """As in SOFA: IdentityMapping(input="@..") below a node that holds only a topology."""
    body = root.addChild("body")
    dofs = body.addObject("MechanicalObject", name="dofs", position="0 0 0")
    shown = body.addChild("surface").addChild("shown")
    shown.addObject("OglModel", name="model")
    assert (
        shown.addObject("IdentityMapping", input="@..", output="@model").input.getLinkedBase()
        is dofs
    )


def test_a_broken_object_link_is_told_at_init_even_when_nobody_needs_it(root, Sofa):
    body = root.addChild("body")
    body.addObject("MechanicalObject", name="dofs", position="0 0 0")
    body.addObject("FixedProjectiveConstraint", name="clamp", topology="@mesh")
    line = here(-1)
    with pytest.raises(LinkError) as caught:
        Sofa.Simulation.init(root)
    assert line in str(caught.value)
    assert "'topology' of FixedProjectiveConstraint '/body/clamp' links to '@mesh'" in str(
        caught.value
    )
    assert "'mesh' is not in node '/body'. It holds: dofs, clamp." in str(caught.value)


@pytest.mark.parametrize("given", ["@precond", "precond", "@.."])
def test_a_solver_that_is_linked_to_in_vain_is_searched_in_the_node(
    root, Sofa, beam, tolerant, given
):
    """SOFA v25.06: EulerImplicitSolver(linearSolver='@nowhere') takes the solver of its node."""
    node = beam(root)
    node.ode.linearSolver = given
    line = here(-1)
    with complaints() as found:
        Sofa.Simulation.init(root)
    assert [type(error) for error in found] == [LinkError]
    assert f"{line}: 'linearSolver' of EulerImplicitSolver '/beam/ode' links to" in str(found[0])
    assert node.ode.linearSolver.getLinkedBase() is None
    Sofa.Simulation.animate(root, 0.01)
    assert np.abs(node.dofs.velocity.array()).max() > 0.0


def test_a_state_that_is_linked_to_in_vain_is_an_error_even_where_warnings_suffice(
    root, Sofa, tolerant
):
    """SOFA v25.06 makes no such component either."""
    root.addObject("MechanicalObject", name="dofs", position="0 0 0")
    root.addObject("UniformMass", mstate="@dof", totalMass=1.0)
    with pytest.raises(LinkError, match="'mstate' of UniformMass"):
        Sofa.Simulation.init(root)


def test_a_link_counts_back_from_the_object_that_has_it(root):
    first = root.addObject("MechanicalObject", name="first", position="1 2 3")
    second = root.addObject("MechanicalObject", name="second", position="@[-1].position")
    mass = root.addObject("UniformMass", mstate="@[-2]", totalMass=1.0)
    np.testing.assert_array_equal(second.position.value, [[1.0, 2.0, 3.0]])
    first.position.value = [[4.0, 5.0, 6.0]]
    np.testing.assert_array_equal(second.position.value, [[4.0, 5.0, 6.0]])
    assert mass.mstate.getLinkedBase() is first


@pytest.mark.parametrize("path", ["@[-3]", "@[1]", "@./[-1]", "@[-1]/..", "@[-1].name"])
def test_a_link_that_counts_to_nothing_leads_nowhere(root, Sofa, path):
    """'[-1]' stands at the beginning and alone, as in SOFA."""
    root.addObject("MechanicalObject", name="dofs", position="0 0 0")
    root.addObject("UniformMass", name="mass", mstate=path, totalMass=1.0)
    with pytest.raises(LinkError, match=r"'mstate' of UniformMass '/mass' links to '@"):
        Sofa.Simulation.init(root)


def test_a_link_finds_a_node_before_an_object_of_the_same_name(root):
    root.addObject("MechanicalObject", name="arm", position="0 0 0")
    arm = root.addChild("arm")
    assert root.addObject("UniformMass", totalMass=1.0).addLink("to", "@arm").getLinkedBase() is arm


def test_an_object_link_to_another_kind_of_object_is_refused(root, Sofa, beam):
    node = beam(root)
    node.removeObject("fem")
    node.addObject("TetrahedronFEMForceField", name="fem", topology="@dofs")
    line = here(-1)
    with pytest.raises(LinkError) as caught:
        Sofa.Simulation.init(root)
    assert line in str(caught.value)
    assert (
        "'topology' of TetrahedronFEMForceField '/beam/fem' links to MechanicalObject "
        "'/beam/dofs', which is no topology"
    ) in str(caught.value)


# -- Data added by scripts -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("string", "text", "text"),
        ("bool", True, True),
        ("int", 3, 3),
        ("double", 2.5, 2.5),
        ("float", "2.5", 2.5),
        ("vector<double>", "1 2", [1.0, 2.0]),
        ("vector<int>", "0-2", [0, 1, 2]),
        ("vector<string>", "a b", ["a", "b"]),
        ("Vec3d", [1, 2, 3], [1.0, 2.0, 3.0]),
        ("vector<Vec3d>", [[1, 2, 3]], [[1.0, 2.0, 3.0]]),
        ("sofa::type::vector<sofa::type::Vec3d>", [[1, 2, 3]], [[1.0, 2.0, 3.0]]),
        ("Rigid3d::Coord", [0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 1]),
    ],
)
def test_add_data_gives_one_object_a_data_of_its_own(Sofa, root, kind, value, expected):
    controller = root.addObject(Sofa.Core.Controller(name="controller"))
    data = controller.addData(name="mine", value=value, type=kind, help="Mine.", group="g")
    found = data.value.tolist() if isinstance(data.value, np.ndarray) else data.value
    assert found == expected
    assert controller.mine is data
    assert controller.findData("mine") is data
    controller.mine = value
    assert data.isSet()
    assert not Sofa.Core.Controller(name="other").hasData("mine")


def test_added_data_may_hold_nan_and_link(Sofa, root):
    source = root.addObject(Sample(name="source", values=[3.0]))
    controller = root.addObject(Sofa.Core.Controller(name="controller"))
    data = controller.addData(name="best", value=np.nan, type="double")
    assert np.isnan(data.value)
    linked = controller.addData(name="values", value="@source.values", type="vector<double>")
    source.values.value = [4.0]
    assert linked.toList() == [[4.0]]


def test_added_data_have_the_default_until_they_are_set(Sofa, root):
    controller = root.addObject(Sofa.Core.Controller(name="controller"))
    data = controller.addData(name="mine", default=2.0, type="double")
    assert (data.value, data.isSet()) == (2.0, False)


def test_add_data_refuses_unknown_types_and_names_that_are_taken(Sofa, root):
    controller = root.addObject(Sofa.Core.Controller(name="controller"))
    with pytest.raises(SceneError, match=r"does not know the type 'colour'\. Known: string, bool"):
        controller.addData(name="mine", type="colour")
    with pytest.raises(SceneError, match=r"'/controller' already has a Data 'name'"):
        controller.addData(name="name", type="string")
    with pytest.raises(SceneError, match=r"'/controller' already has an attribute 'init'"):
        controller.addData(name="init", type="string")


# -- what SofaPython3 offers besides -------------------------------------------------------------


def test_entries_are_set_by_index_and_count_as_a_change(sample):
    sample.points.value = [[0, 0, 0], [1, 1, 1]]
    counter = sample.points.getCounter()
    sample.points[0] = [5, 6, 7]
    sample.points[1, 2] += 3.0
    assert sample.points.toList() == [[5.0, 6.0, 7.0], [1.0, 1.0, 4.0]]
    assert sample.points.getCounter() == counter + 2
    with pytest.raises(SceneError, match="computed by the component"):
        sample.result[0] = 1.0


def test_arrays_can_be_reckoned_with(sample):
    sample.points.value = [[0, 1, 2]]
    points = sample.points
    assert (points.shape, points.ndim, points.size) == ((1, 3), 2, 3)
    assert (points + 1.0).tolist() == [[1.0, 2.0, 3.0]]
    assert (points - points).tolist() == [[0.0, 0.0, 0.0]]
    assert (points * [1, 2, 3]).tolist() == [[0.0, 2.0, 6.0]]


def test_kinds_of_data_are_told_apart_by_their_class(Sofa, sample):
    assert isinstance(sample.points, Sofa.Core.DataContainer)
    assert isinstance(sample.label, Sofa.Core.DataString)
    assert isinstance(sample.words, Sofa.Core.DataVectorString)
    assert type(sample.stiffness) is Sofa.Core.Data


def test_a_data_may_be_renamed_and_hidden_from_a_gui(sample):
    sample.stiffness.setName("k")
    assert sample.stiffness.getPathName() == "/sample.k"
    sample.stiffness.setReadOnly(True)
    assert sample.stiffness.isReadOnly()
    sample.stiffness.setValue(3.0)
    assert sample.stiffness.getValue() == 3.0
    assert sample.stiffness.isSet()


def test_a_change_of_the_parent_is_told_once(root):
    source = root.addObject(Sample(name="source"))
    sample = root.addObject(Sample(name="sample", values="@source.values"))
    assert sample.values.isPersistent()
    sample.values.updateIfDirty()
    assert not sample.values.hasChanged()
    source.values.value = [5.0]
    assert sample.values.hasChanged()
    assert not sample.values.hasChanged()


def test_a_link_path_is_a_text_that_knows_its_end(Sofa, root):
    source = root.addObject(Sample(name="source", values=[3.0]))
    path = source.values.linkpath
    assert isinstance(path, Sofa.Core.LinkPath)
    assert path == "@/source.values"
    assert source.linkpath == "@/source"
    alone = Sample(name="alone", values=path)  # in no node: a plain text would lead nowhere
    assert alone.values.getParent() is source.values


def test_added_data_take_their_type_from_what_they_follow(Sofa, root):
    state = root.addObject("MechanicalObject", name="dofs", position=[[1, 2, 3]])
    mesh = root.addObject("MeshTopology", name="mesh", triangles=[[0, 1, 2]])
    controller = root.addObject(Sofa.Core.Controller(name="controller"))
    for name, source in (("x", state.position), ("t", mesh.triangles), ("n", state.size)):
        data = controller.addData(name, value=source, help="Mine.")
        assert data.getParent() is source
        assert (data.getHelp(), data.isReadOnly()) == ("Mine.", False)
    assert controller.x.toList() == [[1.0, 2.0, 3.0]]
    assert controller.addData("y", value="@dofs.position").shape == (1, 3)
    with pytest.raises(SceneError, match=r"addData needs a type, such as type='double'"):
        controller.addData("z", value=3.0)


def test_a_script_can_add_links(Sofa, root):
    state = root.addObject("MechanicalObject", name="dofs")
    controller = root.addObject(Sofa.Core.Controller(name="controller"))
    link = controller.addLink("state", value=state.linkpath, help="Its state.")
    assert controller.state is controller.findLink("state") is link
    assert link.getLinkedBase() is state
    assert (link.getPathName(), link.getHelp()) == ("/controller.state", "Its state.")
    assert (link.getOwnerBase(), link.getSize()) == (controller, 1)
    other = root.addObject("MechanicalObject", name="other")
    controller.state = "@other"
    assert link.getLinkedBase() is other
    assert link.read("@dofs")
    assert (link.getValueString(), link.getLinkedBase()) == ("@dofs", state)
    assert not (link.isMultiLink() or link.isReadOnly())
    assert link.isPersistent()
    assert controller.addLink("none").getSize() == 0


def test_a_link_can_lead_to_several_states(root):
    """Of a SubsetMultiMapping; as paths in one text, as a list of paths, or as objects."""
    first, second = (root.addObject("MechanicalObject", name=name) for name in "ab")
    mapping = root.addObject("SubsetMultiMapping", input="@a @b")
    link = mapping.findLink("input")
    for given in ("@/b @/a", ["@b", first], [second, "@a"]):
        mapping.input = given
        assert link.getLinkedBases() == [second, first]
    assert (link.getSize(), link.isMultiLink()) == (2, True)
    assert (link.getLinkedBase(), link.getLinkedBase(1), link.getLinkedBase(2)) == (
        second,
        first,
        None,
    )
    assert link.getValueString() == "@/b @a"


def test_links_stay_when_their_part_of_the_graph_is_hung_elsewhere(Sofa, root):
    """A prefab is a root of its own while it is made: '@/a' leads somewhere only then."""
    part = Sofa.Core.Node("part")
    states = [part.addObject("MechanicalObject", name=name) for name in "ab"]
    several = part.addObject("SubsetMultiMapping", input="@/a @/b").findLink("input")
    one = part.addObject("UniformMass", mstate="@/b", totalMass=1.0).findLink("mstate")
    root.addChild("holder").addChild(part)
    assert several.getLinkedBases() == states
    assert one.getLinkedBase() is states[1]


def test_a_data_that_is_not_there_is_none_with_a_warning(root, tolerant):
    """As in SOFA, whose scripts ask so whether there is one; in strict mode it is an error."""
    with complaints() as found:
        assert root.getData("gravty") is None
    assert "gravity" in str(found[0])
    with warnings_as_errors(), pytest.raises(SceneError, match="gravty"):
        root.getData("gravty")


@pytest.mark.usefixtures("tolerant")
def test_what_an_unreadable_value_counts_as_is_said(sample, caplog):
    """As SOFA reads it: up to the first that is no number; a number too large is the largest."""
    sample.values.value = "1 2 x 3"
    assert sample.values.toList() == [[1.0], [2.0]]
    assert "got '1 2 x 3'" in caplog.text and "It counts as [1.0, 2.0]." in caplog.text
    sample.indices.value = [1e30]
    assert sample.indices.toList() == [[2**63 - 1]]


def test_a_matrix_may_have_brackets(sample):
    """As SOFA writes and reads it: rows in brackets, separated by commas."""
    sample.turn.value = "[0.7 -0.7,0.7 0.7]"
    assert sample.turn.value.tolist() == [0.7, -0.7, 0.7, 0.7]
    sample.turn.value = [[1, 2], [3, 4]]
    assert sample.turn.value.tolist() == [1, 2, 3, 4]


def test_a_part_of_a_data_writes_and_counts_as_a_change(sample, root):
    """`data[i][j] = x`, `data[i] += x`, also of a part that was kept."""
    sample.points = [[1, 2, 3], [4, 5, 6]]
    follower = root.addObject(Sample(name="follower", points="@sample.points"))
    sample.points[1][2] = 7.0
    assert follower.points.value.tolist() == [[1, 2, 3], [4, 5, 7]]
    part = sample.points[0]
    part *= 2.0
    assert follower.points.value.tolist()[0] == [2, 4, 6]
    sample.points[0:2][:, 0] = 0.0
    assert follower.points.value[:, 0].tolist() == [0, 0]
    assert type(sample.points[1] + 1.0) is np.ndarray and sample.points[1].sum() == 12.0
    chosen = sample.points[[0, 1]]  # numpy's copy
    chosen[0, 0] = 9.0
    assert sample.points.value[0, 0] == 0.0


def test_parts_of_computed_data_cannot_be_written(root):
    root.addObject("MechanicalObject", name="dofs", position=[[0, 0, 0]])
    with pytest.raises(ValueError, match="read-only"):
        root.dofs.bbox[0][0] = 1.0


def test_what_writeable_gave_cannot_be_written_any_more(sample):
    """Nobody would hear of it."""
    with sample.axis.writeableArray() as axis:
        axis[0] = 2.0
    assert sample.axis.value.tolist() == [2, 0, 1]
    with pytest.raises(ValueError, match="read-only"):
        axis[0] = 3.0


def test_an_array_of_a_script_has_to_fit(sample, tolerant):
    """SofaPython3 copies it; only texts and lists are read as far as possible."""
    with pytest.raises(IndexError, match="takes a list of vectors of 3 numbers"):
        sample.points = np.zeros((4, 5))
    sample.points = np.zeros(9)
    assert sample.points.shape == (3, 3)


def test_reading_a_text_says_whether_it_could(sample):
    assert sample.stiffness.read("7.5") and not sample.stiffness.read("soft")
    assert sample.stiffness.value == 7.5


def test_classes_of_data_have_sofapython3s_names(root):
    root.addObject("MechanicalObject", name="dofs", tags=["a"])
    found = [str(type(data)) for data in (root.dt, root.name, root.dofs.tags, root.dofs.bbox)]
    assert found == [
        "<class 'Sofa.Core.Data'>",
        "<class 'Sofa.Core.DataString'>",
        "<class 'Sofa.Core.DataVectorString'>",
        "<class 'Sofa.Types.BoundingBox'>",
    ]


@pytest.mark.parametrize("kind", ["SphereCollisionModel", "MechanicalObject", "CableConstraint"])
def test_a_color_may_have_three_numbers(root, kind):
    root.addObject("MechanicalObject", position=[[0, 0, 0]])
    name = "showColor" if kind == "MechanicalObject" else "color"
    data = root.addObject(kind, name="x", **{name: [0.5, 0, 1]}).findData(name)
    assert data.value.tolist() == [0.5, 0, 1, 1]


def test_no_color_is_a_mere_vector_of_four_numbers():
    """So that each takes three numbers and names, as in SOFA."""
    from sofa_softctl.runtime.core import factory

    odd = [
        f"{kind.__name__}.{name}"
        for kind in set(factory.components().values())
        for name, entry in kind.data_types.items()
        if "color" in name.lower() and type(entry) is data_types.Vector
    ]
    assert odd == []


def test_an_array_is_changed_in_place_under_another_name_too(sample):
    points = sample.axis
    points += [1, 0, 0]
    points *= 2.0
    points -= sample.values
    assert points is sample.axis and sample.axis.value.tolist() == [1, -1, 1]
    sample.axis += 1.0
    assert sample.axis.value.tolist() == [2, 0, 2]


@pytest.mark.parametrize("text", ["base.indices", "../base.indices", "/beam/base.indices"])
def test_a_link_without_its_sign_is_said_to_lack_it(root, caplog, tolerant, text):
    """FixedProjectiveConstraint(indices='base.indices') holds node 0, as in SOFA."""
    root.addObject("FixedProjectiveConstraint", name="fix", indices=text)
    assert f"A link begins with '@': '@{text}'. It counts as [0]." in caplog.text


def test_numbers_that_cannot_be_read_are_no_link(root, caplog, tolerant):
    root.addObject("FixedProjectiveConstraint", name="fix", indices="1 2 x 0.5")
    assert "A link begins" not in caplog.text


@pytest.mark.parametrize(
    ("given", "taken"), [(-1, 2**32 - 1), ("-9", 2**32 - 9), (-2.5, 2**32 - 2)]
)
def test_a_negative_number_of_things_is_as_large_as_in_sofa_and_said(given, taken, sample):
    with pytest.raises(
        SceneError, match="'steps' of Sample '/sample' takes one whole number from 0 on"
    ):
        sample.steps.value = given
    with warnings_as_errors(False), complaints() as found:
        sample.steps.value = given
    assert sample.steps.value == taken
    assert f"got {given!r}" in str(found[0])


@pytest.mark.parametrize(
    ("given", "taken"),
    [([4, 5], [4, 5, 2]), ([], [2, 2, 2]), ([3, 4, 5, 6], [3, 4, 5]), ("3 x 5", [3, 0, 2])],
)
def test_too_few_whole_numbers_leave_the_others(given, taken, sample):
    with warnings_as_errors(False), complaints() as found:
        sample.cells.value = given
    assert sample.cells.value.tolist() == taken
    assert "'cells' of Sample '/sample' takes 3 numbers" in str(found[0])


@pytest.mark.parametrize("names", [("k", "rigidity"), ("rigidity", "stiffness")])
def test_of_two_names_of_a_data_the_last_in_the_alphabet_counts(root, names):
    for first, last in (names, names[::-1]):
        values = {name: float(names.index(name)) for name in (first, last)}
        assert root.addObject(Sample(**values)).stiffness.value == 1.0


@pytest.mark.parametrize("mask", [[True, False], np.array([True, False])])
def test_a_mask_is_no_list_of_nodes(root, mask):
    """SOFA reads zeros; a list of flags may be one of bools."""
    with pytest.raises(SceneError, match="takes a list of whole numbers.*np.flatnonzero makes"):
        root.addObject("FixedProjectiveConstraint", indices=mask)
    flags = root.addObject("SpringForceField", enabled=mask).enabled
    assert flags.value.tolist() == [1, 0]
