import base64
import lzma
import struct
import zlib

import numpy as np
import pytest

from sofa_softctl.errors import MeshError
from sofa_softctl.runtime.mesh.formats.vtk import read_vtk

POINTS = np.array([[1 / 3, 5e-324, -0.0], [1e308, 2.5, 3.0], [0.1, 0, 0], [7, 8, 9e-300]])
ARRAYS = {
    "points": ("Float64", "f8", POINTS.ravel()),
    "connectivity": ("Int64", "i8", np.array([0, 1, 2, 3, 3, 1, 0, 2, 3])),
    "offsets": ("Int32", "i4", np.array([4, 7, 9])),
    "types": ("UInt8", "u1", np.array([10, 5, 3])),
}


def plain(data: bytes, header: str, encode, together: bool) -> bytes:
    head = struct.pack(header, len(data))
    return encode(head + data) if together else encode(head) + encode(data)


def compressed(data: bytes, header: str, encode, compress) -> bytes:
    """Two blocks, the second shorter, as VTK cuts long arrays."""
    half = len(data) * 2 // 3
    blocks = [compress(data[:half]), compress(data[half:])]
    sizes = [2, half, len(data) - half, *map(len, blocks)]
    return encode(b"".join(struct.pack(header, n) for n in sizes)) + encode(b"".join(blocks))


def document(
    *, form="ascii", order="<", header="I", compressor=None, raw=False, together=True, pieces=1
) -> bytes:
    """The same mesh in any encoding that VTK has."""
    compress = {"vtkZLibDataCompressor": zlib.compress, "vtkLZMADataCompressor": lzma.compress}
    encode = (lambda data: data) if raw else base64.b64encode
    appended, tags = b"", {}
    for name, (vtk_type, dtype, values) in ARRAYS.items():
        data = values.astype(order + dtype).tobytes()
        if compressor:
            stored = compressed(data, order + header, encode, compress[compressor])
        else:
            stored = plain(data, order + header, encode, together)
        where, content = "", " ".join(map(repr, values.tolist())).encode()
        if form == "binary":
            content = b"\n   " + stored + b"\n"
        elif form == "appended":
            where, content = f'offset="{len(appended)}"', b""
            appended += stored
        opening = f'<DataArray type="{vtk_type}" Name="{name}" format="{form}" {where}>'
        tags[name] = opening.encode() + content + b"</DataArray>"
    names = {"<": "LittleEndian", ">": "BigEndian"}
    head = f'<VTKFile type="UnstructuredGrid" version="2.2" byte_order="{names[order]}" '
    head += f'header_type="{"UInt32" if header == "I" else "UInt64"}"'
    head += f' compressor="{compressor}">' if compressor else ">"
    piece = b"".join(
        [
            b'<Piece NumberOfPoints="4" NumberOfCells="3"><Points>' + tags["points"] + b"</Points>",
            b"<Cells>" + b"".join(list(tags.values())[1:]) + b"</Cells></Piece>",
        ]
    )
    encoding = b"raw" if raw else b"base64"
    tail = b'<AppendedData encoding="' + encoding + b'">\n _' + appended + b"\n</AppendedData>"
    return b"".join(
        [
            b'<?xml version="1.0"?>\n' + head.encode(),
            b"<UnstructuredGrid>" + piece * pieces + b"</UnstructuredGrid>",
            tail if form == "appended" else b"",
            b"</VTKFile>",
        ]
    )


def assert_is_the_mesh(mesh):
    assert mesh.positions.tobytes() == POINTS.tobytes()
    assert mesh.tetrahedra.tolist() == [[0, 1, 2, 3]]
    assert mesh.triangles.tolist() == [[3, 1, 0]]
    assert mesh.edges.tolist() == [[2, 3]]


@pytest.mark.parametrize("compressor", [None, "vtkZLibDataCompressor", "vtkLZMADataCompressor"])
@pytest.mark.parametrize("header", ["I", "Q"])
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    ("form", "raw"), [("binary", False), ("appended", False), ("appended", True)]
)
def test_every_binary_encoding_keeps_every_bit(form, raw, order, header, compressor):
    data = document(form=form, raw=raw, order=order, header=header, compressor=compressor)
    assert_is_the_mesh(read_vtk(data, "a.vtu"))


@pytest.mark.parametrize("header", ["I", "Q"])
@pytest.mark.parametrize("form", ["binary", "appended"])
def test_a_length_that_was_encoded_on_its_own_is_recognised(form, header):
    assert_is_the_mesh(read_vtk(document(form=form, header=header, together=False), "a.vtu"))


def test_text_is_read():
    assert_is_the_mesh(read_vtk(document(), "a.vtu"))


def test_xml_is_recognised_with_and_without_its_declaration():
    declaration, _, rest = document().partition(b"\n")
    assert declaration == b'<?xml version="1.0"?>'
    assert_is_the_mesh(read_vtk(rest, "a.vtk"))


def test_coordinates_in_text_are_doubles_even_if_declared_single():
    data = document().replace(b'type="Float64"', b'type="Float32"')
    assert read_vtk(data, "a.vtu").positions.tobytes() == POINTS.tobytes()


def test_an_empty_grid_is_an_empty_mesh():
    empty = b'<DataArray type="Int64" Name="%s"/>'
    data = b'<VTKFile type="UnstructuredGrid"><UnstructuredGrid><Piece NumberOfPoints="0" '
    data += b'NumberOfCells="0"><Points>' + empty % b"p" + b"</Points><Cells>"
    data += b"".join(empty % name for name in (b"connectivity", b"offsets", b"types"))
    data += b"</Cells></Piece></UnstructuredGrid></VTKFile>"
    assert len(read_vtk(data, "a.vtu").positions) == 0


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (document().replace(b"</Cells>", b"</Cell>"), "the XML is malformed (mismatched tag"),
        (
            document().replace(b'"1.0"?', b'"1.0" encoding="utf-99"?'),
            "the XML is malformed (unknown encoding",
        ),
        (document().replace(b'"UnstructuredGrid"', b'"PolyData"'), "got VTKFile PolyData"),
        (document(pieces=2), "expected one Piece, got 2. SOFA reads one piece only"),
        (document().replace(b'Points="4"', b'Points="5"'), "expected 15 coordinates of points"),
        (document().replace(b'Cells="3"', b'Cells="2"'), "expected 2 offsets and types of cells"),
        (document().replace(b'"types"', b'"kinds"'), "the DataArray of types is missing"),
        (document().replace(b"Int32", b"Int31"), "offsets have the unknown type 'Int31'"),
        (document().replace(b"4 7 9", b"4 1e1 9"), "a number of offsets is unreadable"),
        (document().replace(b"4 7 9", b"4 7 11"), "the sizes of the cells do not match"),
        (document(form="binary").replace(b"==", b"")[:-300], "the XML is malformed"),
        (
            document(form="appended").replace(b'offset="0"', b'offset="9999"'),
            "the numbers of points are damaged (the header is incomplete)",
        ),
        (
            document().replace(b'header_type="UInt32"', b'compressor="vtkLZ4DataCompressor"'),
            "expected the compressor vtkZLibDataCompressor or vtkLZMADataCompressor, got",
        ),
    ],
)
def test_what_is_wrong_is_told(data, message):
    with pytest.raises(MeshError) as raised:
        read_vtk(data, "a.vtu")
    assert str(raised.value).startswith("a.vtu: ")
    assert message in str(raised.value)
