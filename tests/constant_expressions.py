"""Random constant expressions of OpenCL C, the same ones for the same seed, with the names that they use."""

from __future__ import annotations

from random import Random

DECLARATIONS = """
enum colour { RED = 3, GREEN, BLUE = RED << 4 | 1, DARK = -7, MOST = 0x7fffffff };
typedef struct { char a; float4 b; short c[GREEN]; } packet;
typedef uchar byte;
struct pair { byte first; ulong second; };
union either { int3 a; struct pair b[2]; };
constant int SIZE = 6 * 7;
constant ushort SMALL = 65537;
"""
ARITHMETIC = "char,uchar,short,ushort,int,uint,long,ulong,unsigned,unsigned char,long int,byte,size_t,bool,signed char"
OTHERS = "packet,struct pair,union either,enum colour,float4,int3,double,int[7],packet[2]"
OPERANDS = r"""
0 1 2 7 10 255 4096 2147483647 2147483648 4294967295 9223372036854775807 0x10 0x7fffffff 0xffffffff 0xFFFFFFFFFFFFFFFF
017 0777 1u 3U 5l 7UL 0x80000000u 'a' '\n' '\x7f' '\377' '\0' RED GREEN BLUE DARK MOST SIZE SMALL INT_MAX INT_MIN
CHAR_BIT UCHAR_MAX LONG_MIN ULONG_MAX UINT_MAX
"""
TYPES, LEAVES = ARITHMETIC.split(","), OPERANDS.split()
SIZED = [*TYPES, *OTHERS.split(",")]
FLOATS = ["1.5f", "2.25", ".5", "3e2f", "0x1p3", "7", "'a'", "RED"]
BINARY = ["+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "&&", "||", "==", "!=", "<", ">", "<=", ">="]


def expressions(seed: int, count: int) -> list[str]:
    """Returns `count` different expressions; some of them divide by zero."""
    random = Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        found[_expression(random, random.randint(1, 4))] = None
    return list(found)


def _expression(random: Random, depth: int) -> str:
    form = random.randrange(10) if depth else 0
    if form == 0:
        return random.choice(LEAVES)
    if form == 1:
        return f"{random.choice('-+~!')}{_operand(random, depth - 1)}"
    if form == 2:
        return f"({random.choice(TYPES)}){_operand(random, depth - 1)}"
    if form == 3:
        sized = f"({random.choice(SIZED)})" if random.random() < 0.6 else f"({_expression(random, depth - 1)})"
        return f"sizeof{sized}"
    if form == 4:
        parts = [_operand(random, depth - 1) for _ in range(3)]
        return f"{parts[0]} ? {parts[1]} : {parts[2]}"
    if form == 5:
        first, second = random.choice(FLOATS), random.choice(FLOATS)
        return f"({random.choice(('int', 'uchar', 'ulong'))})({first} {random.choice('+*')} {second} / 8)"
    written = f"{_operand(random, depth - 1)} {random.choice(BINARY)} {_operand(random, depth - 1)}"
    return f"({written})" if random.random() < 0.3 else written


def _operand(random: Random, depth: int) -> str:
    return f"({_expression(random, depth)})" if depth else random.choice(LEAVES)
