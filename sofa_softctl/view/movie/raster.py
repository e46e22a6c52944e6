"""Rasteriser for small meshes and lines: supersampled, with transparency, on the CPU.

A picture is painted in bands of rows that fit the processor's cache, each in this order:

    opaque triangles    nearest sample wins
    lines               opaque; edges are smooth over one sample
    veils               translucent triangles, sorted by the caller, farthest first
    trails              translucent polylines; where a trail covers itself it counts once

and then each pixel becomes the mean of its samples. Coordinates are x and y in samples, from the
upper left corner, and w = 1 / distance, which is linear on the screen where the distance is not.

A row of a triangle is the samples whose centres lie between two of its edges, the left one
included. Both triangles at an edge compute the same crossing, so that none of its samples is
painted twice or left out: in a veil that would be a visible line.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit

BAND_SAMPLES = 1 << 17
"""Samples of a band: 24 bytes each, together about as large as a second-level cache."""


BANDS_MAX = 256
"""Bands of a large picture: each goes through all triangles."""
HIDING_OPACITY = 0.8
"""Opacity from which on a veil hides what is painted behind it later [-]."""


@njit(nogil=True)
def paint(
    picture: np.ndarray,
    samples: int,
    background: np.ndarray,
    triangles: np.ndarray,
    colors: np.ndarray,
    opacity: np.ndarray,
    opaque_count: int,
    segments: np.ndarray,
    segment_colors: np.ndarray,
    radius: np.ndarray,
    is_tube: np.ndarray,
    trails: np.ndarray,
    trail_starts: np.ndarray,
    trail_colors: np.ndarray,
    trail_radius: np.ndarray,
    trail_veil: float,
) -> None:
    """Paint triangles, lines and trails into a picture.

    Args:
        picture: Result: red, green, blue, and opacity if there are four, uint8, shape
            (height, width, 3 or 4).
        samples: Samples of a pixel along each side.
        background: Color and opacity of what nothing covers, from 0 to 1, shape (4,).
        triangles: x, y and w of corners, shape (n, 3, 3).
        colors: Color of each corner, from 0 to 1, shape (n, 3, 3).
        opacity: Opacity of each triangle, shape (n,); used after the opaque ones.
        opaque_count: Number of triangles, the first ones, that are opaque.
        segments: x, y and w of both ends of lines, shape (m, 2, 3).
        segment_colors: Colors, shape (m, 3).
        radius: Half the width of each line [sample], shape (m,).
        is_tube: Whether a line is shaded as a round one, shape (m,).
        trails: x, y, w and opacity of the points of all trails, shape (p, 4).
        trail_starts: First point of each trail, and p, shape (t + 1,).
        trail_colors: Colors, shape (t, 3).
        trail_radius: Half the width of each trail [sample], shape (t,).
        trail_veil: Opacity of what a veil leaves of a trail behind it [-].
    """
    height, width = picture.shape[:2]
    columns = width * samples
    pixel_rows = max(1, BAND_SAMPLES // (columns * samples), height // BANDS_MAX)
    color = np.empty((4, pixel_rows * samples, columns), dtype=np.float32)
    for channel in range(4):
        color[channel] = background[channel]
    depth = np.zeros((pixel_rows * samples, columns), dtype=np.float32)
    veil = np.zeros_like(depth)
    trail = np.zeros_like(depth)
    dirty = np.empty(2, dtype=np.int64)
    for first in range(0, height, pixel_rows):
        count = min(pixel_rows, height - first)
        low, high = first * samples, (first + count) * samples
        dirty[0], dirty[1] = columns, 0
        for k in range(opaque_count):
            _fill(color, depth, veil, dirty, low, high, triangles[k], colors[k], 1.0)
        for k in range(len(segments)):
            ends, shade = segments[k], segment_colors[k]
            _draw(color, depth, dirty, low, high, ends, shade, radius[k], is_tube[k])
        for k in range(opaque_count, len(triangles)):
            _fill(color, depth, veil, dirty, low, high, triangles[k], colors[k], opacity[k])
        for t in range(len(trail_colors)):
            points = trails[trail_starts[t] : trail_starts[t + 1]]
            _lay(
                color, depth, veil, trail, dirty, low, high,
                points, trail_colors[t], trail_radius[t], trail_veil,
            )  # fmt: skip
        _average(picture, color, depth, veil, dirty, first, count, samples, background)


@njit(nogil=True)
def _fill(
    color: np.ndarray,
    depth: np.ndarray,
    veil: np.ndarray,
    dirty: np.ndarray,
    low: int,
    high: int,
    corner: np.ndarray,
    shade: np.ndarray,
    opacity: float,
) -> None:
    """Fill a triangle in the rows of a band."""
    y = corner[:, 1]
    a, b, c = 0, 1, 2  # by height on the screen
    if y[b] < y[a]:
        a, b = b, a
    if y[c] < y[b]:
        b, c = c, b
    if y[b] < y[a]:
        a, b = b, a
    first = max(low, int(np.ceil(max(y[a], -1.0) - 0.5)))
    last = min(high, int(np.ceil(min(y[c], high + 1.0) - 0.5)))
    if first >= last:
        return
    xa, ya, wa = corner[a]
    xb, yb, wb = corner[b]
    xc, yc, wc = corner[c]
    area = (xb - xa) * (yc - ya) - (xc - xa) * (yb - ya)
    if abs(area) < 1e-9:
        return
    # Gradients along x and y of w and of the three colors.
    px, py = (yc - ya) / area, -(xc - xa) / area  # of the weight of b
    qx, qy = -(yb - ya) / area, (xb - xa) / area  # of the weight of c
    columns = depth.shape[1]
    wx = px * (wb - wa) + qx * (wc - wa)
    wy = py * (wb - wa) + qy * (wc - wa)
    r0, g0, b0 = shade[a]
    rb, gb, bb = shade[b, 0] - r0, shade[b, 1] - g0, shade[b, 2] - b0
    rc, gc, bc = shade[c, 0] - r0, shade[c, 1] - g0, shade[c, 2] - b0
    rx, gx, bx = px * rb + qx * rc, px * gb + qx * gc, px * bb + qx * bc
    ry, gy, by = py * rb + qy * rc, py * gb + qy * gc, py * bb + qy * bc
    for row in range(first, last):
        centre = row + 0.5
        x1 = xa + (centre - ya) * ((xc - xa) / (yc - ya))
        if centre < yb:
            x2 = xa + (centre - ya) * ((xb - xa) / (yb - ya))
        else:
            x2 = xb + (centre - yb) * ((xc - xb) / (yc - yb))
        left = int(np.ceil(max(min(x1, x2), -1.0) - 0.5))
        right = int(np.ceil(min(max(x1, x2), columns + 1.0) - 0.5))
        left, right = max(left, 0), min(right, columns)
        if left >= right:
            continue
        dirty[0], dirty[1] = min(dirty[0], left), max(dirty[1], right)
        dy = centre - ya
        dx = left + 0.5 - xa
        w = np.float32(wa + wx * dx + wy * dy)
        red = np.float32(r0 + rx * dx + ry * dy)
        green = np.float32(g0 + gx * dx + gy * dy)
        blue = np.float32(b0 + bx * dx + by * dy)
        w_step, r_step = np.float32(wx), np.float32(rx)
        g_step, b_step = np.float32(gx), np.float32(bx)
        i = row - low
        _blend(
            color, depth, veil, i, left, right,
            w, w_step, red, r_step, green, g_step, blue, b_step, np.float32(opacity),
        )  # fmt: skip


@njit(nogil=True)
def _blend(
    color: np.ndarray,
    depth: np.ndarray,
    veil: np.ndarray,
    i: int,
    left: int,
    right: int,
    w: np.float32,
    w_step: np.float32,
    red: np.float32,
    r_step: np.float32,
    green: np.float32,
    g_step: np.float32,
    blue: np.float32,
    b_step: np.float32,
    opacity: np.float32,
) -> None:
    """Blend samples of a row over those that are farther away.

    Without branches and with a plane for each color, eight samples go at a time: 1 ns each.
    """
    reds, greens, blues = color[0, i, left:right], color[1, i, left:right], color[2, i, left:right]
    full, depths, veils = color[3, i, left:right], depth[i, left:right], veil[i, left:right]
    zero, one = np.float32(0.0), np.float32(1.0)
    solid = one if opacity >= HIDING_OPACITY else zero
    for j in range(right - left):
        step = np.float32(j)
        nearness = w + step * w_step
        old = depths[j]
        seen = nearness if nearness > old else zero
        part = opacity if nearness > old else zero
        rest = one - part
        reds[j] = rest * reds[j] + part * (red + step * r_step)
        greens[j] = rest * greens[j] + part * (green + step * g_step)
        blues[j] = rest * blues[j] + part * (blue + step * b_step)
        full[j] = rest * full[j] + part
        depths[j] = max(old, solid * seen)
        veils[j] = max(veils[j], seen)


@njit(nogil=True)
def _box(
    ends: np.ndarray, radius: float, low: int, high: int, columns: int
) -> tuple[int, int, int, int]:
    """Return the rows and columns of a band that a segment may cover."""
    reach = radius + 1.0
    x1, x2 = min(ends[0, 0], ends[1, 0]) - reach, max(ends[0, 0], ends[1, 0]) + reach
    y1, y2 = min(ends[0, 1], ends[1, 1]) - reach, max(ends[0, 1], ends[1, 1]) + reach
    if not (y1 < high and y2 > low and x1 < columns and x2 > 0):
        return 0, 0, 0, 0
    return (
        max(low, int(max(y1, -1.0))),
        min(high, int(min(y2, high + 1.0)) + 1),
        max(0, int(max(x1, -1.0))),
        min(columns, int(min(x2, columns + 1.0)) + 1),
    )


@njit(nogil=True)
def _columns(
    ey: float, x: float, dx: float, dy: float, reach: float, left: int, right: int
) -> tuple[int, int]:
    """Return the columns of a box in which a row comes near a line.

    Args:
        ey: Height of the row below the line's first end, whose column is `x`.
        x: See `ey`.
        dx: Direction of the line, to the right.
        dy: Direction of the line, downwards.
        reach: Length of the direction times the distance that is near.
        left: First column of the box.
        right: Column after its last one.
    """
    if abs(dy) < 1e-6:
        return left, right
    middle, half = x + ey * dx / dy, reach / abs(dy)
    return (
        max(left, int(np.floor(max(middle - half, -1.0)))),
        min(right, int(np.ceil(min(middle + half, right + 1.0)))),
    )


@njit(nogil=True)
def _draw(
    color: np.ndarray,
    depth: np.ndarray,
    dirty: np.ndarray,
    low: int,
    high: int,
    ends: np.ndarray,
    shade: np.ndarray,
    radius: float,
    is_tube: bool,
) -> None:
    """Draw a line with round ends in the rows of a band."""
    top, bottom, left, right = _box(ends, radius, low, high, depth.shape[1])
    if top >= bottom or left >= right:
        return
    dirty[0], dirty[1] = min(dirty[0], left), max(dirty[1], right)
    x, y, w = ends[0]
    dx, dy, dw = ends[1, 0] - x, ends[1, 1] - y, ends[1, 2] - w
    square = max(dx * dx + dy * dy, 1e-12)
    reach = radius + 0.5
    for row in range(top, bottom):
        i, ey = row - low, row + 0.5 - y
        start, stop = _columns(ey, x, dx, dy, reach * np.sqrt(square), left, right)
        for j in range(start, stop):
            ex = j + 0.5 - x
            along = min(max((ex * dx + ey * dy) / square, 0.0), 1.0)
            distance = (ex - along * dx) ** 2 + (ey - along * dy) ** 2
            nearness = np.float32(w + along * dw)
            if distance >= reach * reach or nearness < depth[i, j]:
                continue
            distance = np.sqrt(distance)
            cover = np.float32(min(reach - distance, 1.0))
            light = 1.0
            if is_tube:  # round: its sides look away
                light = 0.65 + 0.35 * np.sqrt(1.0 - (distance / reach) ** 2)
            rest = np.float32(1.0) - cover
            for channel in range(3):
                color[channel, i, j] = rest * color[channel, i, j] + cover * np.float32(
                    light * shade[channel]
                )
            color[3, i, j] = rest * color[3, i, j] + cover
            if cover >= 0.5:
                depth[i, j] = nearness


@njit(nogil=True)
def _lay(
    color: np.ndarray,
    depth: np.ndarray,
    veil: np.ndarray,
    trail: np.ndarray,
    dirty: np.ndarray,
    low: int,
    high: int,
    points: np.ndarray,
    shade: np.ndarray,
    radius: float,
    behind: float,
) -> None:
    """Lay a trail over the rows of a band: the greatest opacity of its segments counts."""
    columns, reach = depth.shape[1], radius + 0.5
    rows_low, rows_high, columns_low, columns_high = high, low, columns, 0
    for k in range(len(points) - 1):
        ends = points[k : k + 2]
        top, bottom, left, right = _box(ends, radius, low, high, columns)
        if top >= bottom or left >= right:
            continue
        rows_low, rows_high = min(rows_low, top), max(rows_high, bottom)
        columns_low, columns_high = min(columns_low, left), max(columns_high, right)
        x, y, w, opacity = points[k]
        dx, dy = points[k + 1, 0] - x, points[k + 1, 1] - y
        dw, change = points[k + 1, 2] - w, points[k + 1, 3] - opacity
        square = max(dx * dx + dy * dy, 1e-12)
        for row in range(top, bottom):
            i, ey = row - low, row + 0.5 - y
            start, stop = _columns(ey, x, dx, dy, reach * np.sqrt(square), left, right)
            for j in range(start, stop):
                ex = j + 0.5 - x
                along = min(max((ex * dx + ey * dy) / square, 0.0), 1.0)
                distance = (ex - along * dx) ** 2 + (ey - along * dy) ** 2
                nearness = w + along * dw
                if distance >= reach * reach or nearness < depth[i, j]:
                    continue
                part = min(reach - np.sqrt(distance), 1.0) * (opacity + along * change)
                if nearness < veil[i, j]:
                    part *= behind
                trail[i, j] = max(trail[i, j], np.float32(part))
    if columns_low >= columns_high:
        return
    dirty[0], dirty[1] = min(dirty[0], columns_low), max(dirty[1], columns_high)
    for i in range(rows_low - low, rows_high - low):
        for j in range(columns_low, columns_high):
            part = trail[i, j]
            if part > 0.0:
                rest = np.float32(1.0) - part
                for channel in range(3):
                    color[channel, i, j] = rest * color[channel, i, j] + part * np.float32(
                        shade[channel]
                    )
                color[3, i, j] = rest * color[3, i, j] + part
                trail[i, j] = 0.0


@njit(nogil=True)
def _average(
    picture: np.ndarray,
    color: np.ndarray,
    depth: np.ndarray,
    veil: np.ndarray,
    dirty: np.ndarray,
    first: int,
    count: int,
    samples: int,
    background: np.ndarray,
) -> None:
    """Turn the samples of a band into pixels, and clear those that were painted."""
    left, right = dirty[0] // samples, (dirty[1] + samples - 1) // samples
    start, stop = left * samples, right * samples
    if left >= right:
        start = stop = 0
    rows = np.empty(stop - start, dtype=np.float32)  # a color, summed over the rows of a pixel
    sums = np.zeros((4, right - left if stop else 0), dtype=np.float32)
    scale = np.float32(255.0 / (samples * samples))
    full, half = np.float32(255.0), np.float32(0.5)
    for row in range(count):
        pixels = picture[first + row]
        below, above = row * samples, (row + 1) * samples
        for channel in range(picture.shape[2]):
            pixels[:, channel] = np.uint8(full * background[channel] + half)
        for channel in range(4):
            rows[:] = 0.0
            for i in range(below, above):
                rows += color[channel, i, start:stop]
                color[channel, i, start:stop] = background[channel]
            total = sums[channel]
            total[:] = 0.0
            for j in range(samples):
                total += rows[j::samples]
        depth[below:above, start:stop] = 0.0
        veil[below:above, start:stop] = 0.0
        if picture.shape[2] == 3:
            for channel in range(3):
                total = sums[channel]
                for k in range(len(total)):
                    pixels[left + k, channel] = np.uint8(scale * total[k] + half)
        else:  # the file has colors that opacity has not dimmed
            for k in range(sums.shape[1]):
                factor = full / max(sums[3, k], np.float32(1e-6))
                for channel in range(3):
                    pixels[left + k, channel] = np.uint8(factor * sums[channel, k] + half)
                pixels[left + k, 3] = np.uint8(scale * sums[3, k] + half)
