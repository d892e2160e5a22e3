# SPDX-License-Identifier: Apache-2.0
"""The C source that registers device images with the SYCL runtime before any constructor of the program runs.

Layouts and numbers are those of `__sycl_register_lib`, the interface of the runtime for compilers. Version 1 of images
has two pointers for a manifest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fpgart.icpx.images import DeviceImage, Property

DECLARATIONS = """\
#include <stddef.h>
#include <stdint.h>

struct entry { const void *address; const char *name; size_t size; int32_t flags, reserved; };
struct property { const char *name; const void *value; uint32_t type; uint64_t size; };
struct property_set { const char *name; const struct property *begin, *end; };
struct image {
    uint16_t version;
    uint8_t kind, format;
    const char *target, *compile_options, *link_options, *manifest_begin, *manifest_end;
    const unsigned char *begin, *end;
    const struct entry *entries_begin, *entries_end;
    const struct property_set *sets_begin, *sets_end;
};
struct library {
    uint16_t version, count;
    const struct image *images;
    const struct entry *host_begin, *host_end;
};
extern void __sycl_register_lib(const struct library *);
extern void __sycl_unregister_lib(const struct library *);
"""
REGISTER = """\
static const struct library all = {1, sizeof images / sizeof images[0], images, 0, 0};
__attribute__((constructor(101))) static void enter(void) { __sycl_register_lib(&all); }
__attribute__((destructor(101))) static void leave(void) { __sycl_unregister_lib(&all); }
"""
IMAGE_VERSION = 1
KIND_SYCL = 4
FORMAT_SPIRV = 2
TARGET = "spir64"
INTEGER = 1
BYTES = 2


def registration_of(images: Sequence[DeviceImage]) -> str:
    """Returns the C source, which includes the images themselves by their paths."""
    lines = [DECLARATIONS]
    for number, image in enumerate(images):
        lines += _image(number, image)
    lines.append("static const struct image images[] = {")
    lines += [_row(number, image) for number, image in enumerate(images)]
    lines += ["};", REGISTER]
    return "\n".join(lines)


def quoted(text: str) -> str:
    """Returns a C string literal."""
    plain = all(32 <= ord(character) < 127 and character not in '"\\?' for character in text)
    return f'"{text}"' if plain else '"' + "".join(f"\\{byte:03o}" for byte in text.encode()) + '"'


def _image(number: int, image: DeviceImage) -> Iterator[str]:
    begin, end = f"image_{number}_begin", f"image_{number}_end"
    yield (
        f'__asm__(".section .rodata\\n.balign 16\\n.local {begin}\\n.local {end}\\n{begin}:\\n'
        f'.incbin \\"{image.code}\\"\\n{end}:\\n.previous\\n");'
    )
    yield f'extern const unsigned char {begin}[] __attribute__((visibility("hidden")));'
    yield f'extern const unsigned char {end}[] __attribute__((visibility("hidden")));'
    names = ", ".join(f"{{0, {quoted(name)}, 0, 0, 0}}" for name in image.kernels)
    yield f"static const struct entry entries_{number}[] = {{{names}}};"
    sets = [f"set_{number}_{index}" for index in range(len(image.properties))]
    for name, values in zip(sets, image.properties.values(), strict=True):
        yield from _properties(name, values)
    rows = ", ".join(
        f"{{{quoted(title)}, {name}, {name} + {len(values)}}}"
        for name, (title, values) in zip(sets, image.properties.items(), strict=True)
    )
    yield f"static const struct property_set sets_{number}[] = {{{rows or '{0, 0, 0}'}}};"


def _properties(name: str, values: dict[str, Property]) -> Iterator[str]:
    rows = []
    for index, (key, value) in enumerate(values.items()):
        if isinstance(value, int):
            rows.append(f"{{{quoted(key)}, 0, {INTEGER}, {value}u}}")
            continue
        data = f"{name}_{index}"
        numbers = ", ".join(map(str, value)) or "0"
        yield f"static const unsigned char {data}[] __attribute__((aligned(8))) = {{{numbers}}};"
        rows.append(f"{{{quoted(key)}, {data}, {BYTES}, {len(value)}}}")
    yield f"static const struct property {name}[] = {{{', '.join(rows) or '{0, 0, 0, 0}'}}};"


def _row(number: int, image: DeviceImage) -> str:
    entries, sets = f"entries_{number}", f"sets_{number}"
    return (
        f'    {{{IMAGE_VERSION}, {KIND_SYCL}, {FORMAT_SPIRV}, "{TARGET}", "", "", 0, 0, '
        f"image_{number}_begin, image_{number}_end, {entries}, {entries} + {len(image.kernels)}, "
        f"{sets}, {sets} + {len(image.properties)}}},"
    )
