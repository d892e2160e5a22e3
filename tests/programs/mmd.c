/* SPDX-License-Identifier: Apache-2.0
 *
 * A program written to aocl_mmd.h alone, as runtimes are: it opens the library that an .fcd file
 * names and drives the board. Each rule is a function; the first argument says which one, the
 * others are what it needs. Silent and 0 where the rule holds. */
#include <aocl_mmd.h>
#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT 4096
#define BYTES (COUNT * sizeof(int))

static void must_be(int condition, const char *what)
{
    if (!condition) {
        printf("not so: %s\n", what);
        exit(1);
    }
}

/* The library, as a runtime finds it */

#define FUNCTION(name) static __typeof__(aocl_mmd_##name) *name
FUNCTION(get_offline_info);
FUNCTION(get_info);
FUNCTION(open);
#define close mmd_close
FUNCTION(close);
FUNCTION(set_interrupt_handler);
FUNCTION(set_device_interrupt_handler);
FUNCTION(set_status_handler);
FUNCTION(yield);
#define read mmd_read
#define write mmd_write
FUNCTION(read);
FUNCTION(write);
FUNCTION(copy);
FUNCTION(program);
FUNCTION(host_alloc);
FUNCTION(shared_alloc);
#define free mmd_free
FUNCTION(free);
FUNCTION(hostchannel_create);

static void *library;

static void *symbol(const char *name)
{
    void *found = dlsym(library, name);
    must_be(found != NULL, name);
    return found;
}

static void load(void)
{
    char pattern[4096], path[4096] = "";
    glob_t files;
    snprintf(pattern, sizeof pattern, "%s/*.fcd", getenv("ACL_BOARD_VENDOR_PATH"));
    must_be(glob(pattern, 0, NULL, &files) == 0 && files.gl_pathc == 1, "there is one .fcd file");
    FILE *file = fopen(files.gl_pathv[0], "r");
    must_be(file != NULL && fgets(path, sizeof path, file) != NULL, "it has a line");
    path[strcspn(path, "\n")] = '\0';
    fclose(file);
    library = dlopen(path, RTLD_NOW);
    must_be(library != NULL, "the library opens");
    get_offline_info = symbol("aocl_mmd_get_offline_info");
    get_info = symbol("aocl_mmd_get_info");
    open = symbol("aocl_mmd_open");
    close = symbol("aocl_mmd_close");
    set_interrupt_handler = symbol("aocl_mmd_set_interrupt_handler");
    set_device_interrupt_handler = symbol("aocl_mmd_set_device_interrupt_handler");
    set_status_handler = symbol("aocl_mmd_set_status_handler");
    yield = symbol("aocl_mmd_yield");
    read = symbol("aocl_mmd_read");
    write = symbol("aocl_mmd_write");
    copy = symbol("aocl_mmd_copy");
    program = symbol("aocl_mmd_program");
    host_alloc = symbol("aocl_mmd_host_alloc");
    shared_alloc = symbol("aocl_mmd_shared_alloc");
    free = symbol("aocl_mmd_free");
    hostchannel_create = symbol("aocl_mmd_hostchannel_create");
}

/* A board and some of its memory */

static int board, memory, kernels;
static size_t begin;
static int sent[COUNT], got[COUNT];

static int number(aocl_mmd_info_t query)
{
    int answer = -7;
    must_be(get_info(board, query, sizeof answer, &answer, NULL) == 0, "a query of the board");
    return answer;
}

static void open_board(const char *where)
{
    board = open("acl0");
    must_be(board >= 0, "the board opens");
    memory = number(AOCL_MMD_MEMORY_INTERFACE);
    kernels = number(AOCL_MMD_KERNEL_INTERFACES);
    begin = strtoull(where, NULL, 0);
    for (int i = 0; i < COUNT; i++)
        sent[i] = 3 * i + 1;
}

/* Rules */

static void names_are_told_before_any_board_is_open(char **arguments)
{
    char text[200];
    size_t size;
    int count = 0;
    must_be(get_offline_info(AOCL_MMD_VERSION, sizeof text, text, &size) == 0 &&
                strcmp(text, AOCL_MMD_VERSION_STRING) == 0 && size == strlen(text) + 1,
            "the version is that of the header");
    must_be(get_offline_info(AOCL_MMD_NUM_BOARDS, sizeof count, &count, NULL) == 0 && count == 2,
            "there are two boards");
    must_be(get_offline_info(AOCL_MMD_BOARD_NAMES, sizeof text, text, NULL) == 0 &&
                strcmp(text, "acl0;acl1") == 0,
            "their names are divided by semicolons");
}

static void a_name_that_is_none_is_refused(char **arguments)
{
    must_be(open("acl7") < 0, "there is no such board");
    must_be(open(NULL) < 0, "NULL is no name");
}

static void interfaces_differ(char **arguments)
{
    open_board(arguments[0]);
    must_be(memory >= 0 && kernels >= 0 && memory != kernels, "memory and kernels have interfaces");
    must_be(number(AOCL_MMD_PLL_INTERFACES) < 0, "kernels have no clock to set");
}

static void sizes_are_size_t_and_temperatures_float(char **arguments)
{
    size_t alignment = 0, size = 0;
    float celsius = 0;
    open_board(arguments[0]);
    must_be(get_info(board, AOCL_MMD_MIN_HOST_MEMORY_ALIGNMENT, sizeof alignment, &alignment,
                     &size) == 0 &&
                size == sizeof alignment && alignment >= 64,
            "an alignment");
    must_be(get_info(board, AOCL_MMD_TEMPERATURE, sizeof celsius, &celsius, NULL) == 0 &&
                celsius > 0 && celsius < 150,
            "a temperature");
}

static void an_answer_without_room_is_refused_and_its_size_told(char **arguments)
{
    char text[2] = "";
    size_t size = 0;
    open_board(arguments[0]);
    must_be(get_info(board, AOCL_MMD_BOARD_NAME, sizeof text, text, &size) < 0, "no room");
    must_be(size > sizeof text && text[0] == '\0', "nothing is written");
}

static void what_is_written_is_read_and_copied(char **arguments)
{
    open_board(arguments[0]);
    must_be(write(board, NULL, BYTES, sent, memory, begin) == 0, "a write");
    must_be(copy(board, NULL, BYTES, memory, begin, begin + BYTES) == 0, "a copy");
    must_be(read(board, NULL, BYTES, got, memory, begin + BYTES) == 0, "a read");
    must_be(memcmp(sent, got, BYTES) == 0, "the bytes are there");
}

static volatile int ended, ended_with;
static void *volatile ended_op;

static void transfer_ended(int handle, void *data, aocl_mmd_op_t op, int status)
{
    must_be(handle == board && data == sent, "the handler gets what it was registered with");
    ended_op = op;
    ended_with = status;
    ended++;
}

static void await(volatile int *count, int wanted)
{
    while (*count < wanted)
        yield(board);
}

static void the_end_of_a_transfer_with_a_handle_is_told(char **arguments)
{
    int write_op, read_op;
    open_board(arguments[0]);
    must_be(set_status_handler(board, transfer_ended, sent) == 0, "a handler");
    must_be(write(board, &write_op, BYTES, sent, memory, begin) == 0, "a write begins");
    await(&ended, 1);
    must_be(ended_op == &write_op && ended_with == 0, "its handle and status are told");
    must_be(read(board, &read_op, BYTES, got, memory, begin) == 0, "a read begins");
    await(&ended, 2);
    must_be(ended_op == &read_op && memcmp(sent, got, BYTES) == 0, "its bytes are there");
}

static void a_handle_of_several_transfers_is_told_once(char **arguments)
{
    enum { ROWS = 16, ROW = BYTES / ROWS };
    int op;
    open_board(arguments[0]);
    set_status_handler(board, transfer_ended, sent);
    for (size_t row = 0; row < ROWS; row++)
        must_be(write(board, &op, ROW, (char *)sent + row * ROW, memory, begin + row * ROW) == 0,
                "a row begins");
    await(&ended, 1);
    must_be(read(board, NULL, BYTES, got, memory, begin) == 0 && memcmp(sent, got, BYTES) == 0,
            "all rows are there");
    for (int i = 0; i < 20; i++)
        yield(board);
    must_be(ended == 1, "nothing more is told");
}

static void handlers_are_called_by_who_yields(char **arguments)
{
    int op;
    open_board(arguments[0]);
    set_status_handler(board, transfer_ended, sent);
    must_be(write(board, &op, BYTES, sent, memory, begin) == 0, "a write begins");
    usleep(50000);
    must_be(ended == 0, "nobody else is told");
    must_be(yield(board) != 0 && ended == 1, "the end was waiting");
}

static void blocking_calls_tell_the_status_handler_nothing(char **arguments)
{
    open_board(arguments[0]);
    set_status_handler(board, transfer_ended, sent);
    must_be(write(board, NULL, BYTES, sent, memory, begin) == 0, "a write");
    must_be(ended == 0, "nobody was told");
}

static void addresses_that_no_memory_has_are_refused(char **arguments)
{
    open_board(arguments[0]);
    must_be(write(board, NULL, BYTES, sent, memory, ~(size_t)0 - 64) != 0, "beyond everything");
    must_be(write(board, NULL, BYTES, sent, 7, begin) != 0, "no such interface");
    must_be(write(board, NULL, BYTES, NULL, memory, begin) != 0, "NULL");
    must_be(read(board + 1, NULL, BYTES, got, memory, begin) != 0, "a board that is not open");
}

static void a_board_that_was_closed_can_be_opened_again(char **arguments)
{
    open_board(arguments[0]);
    must_be(open("acl0") < 0, "it is open");
    must_be(close(board) == 0, "it closes");
    must_be(close(board) != 0, "it is closed");
    must_be(read(board, NULL, BYTES, got, memory, begin) != 0, "nothing is read of a closed board");
    open_board(arguments[0]);
    must_be(write(board, NULL, BYTES, sent, memory, begin) == 0, "it works");
}

static void host_memory_is_given_aligned_and_taken_back_once(char **arguments)
{
    int error = 7;
    open_board(arguments[0]);
    char *given = host_alloc(&board, 1, 10000, 8192, NULL, &error);
    must_be(given != NULL && error == AOCL_MMD_ERROR_SUCCESS, "memory");
    must_be((uintptr_t)given % 8192 == 0, "it is aligned");
    memset(given, 7, 10000);
    must_be(free(given + 1) == AOCL_MMD_ERROR_INVALID_POINTER, "a pointer into it is none");
    must_be(free(given) == 0, "it is freed");
    must_be(free(given) == AOCL_MMD_ERROR_INVALID_POINTER, "it is gone");
}

static void what_host_memory_cannot_be_has_an_error_of_its_own(char **arguments)
{
    int error = 7, closed = board + 1;
    aocl_mmd_mem_properties_t bank[] = {AOCL_MMD_MEM_PROPERTIES_MEMORY_BANK, 1, 0};
    open_board(arguments[0]);
    must_be(!host_alloc(&board, 1, 64, 3, NULL, &error), "no power of two");
    must_be(error == AOCL_MMD_ERROR_UNSUPPORTED_ALIGNMENT, "that is told");
    must_be(!host_alloc(&board, 1, 64, 64, bank, &error), "no such property");
    must_be(error == AOCL_MMD_ERROR_UNSUPPORTED_PROPERTY, "that is told");
    must_be(!shared_alloc(closed, 64, 64, NULL, &error), "no such board");
    must_be(error == AOCL_MMD_ERROR_INVALID_HANDLE, "that is told");
    must_be(!host_alloc(&board, 1, 64, 0, NULL, NULL) == 0, "the error need not be asked for");
}

static void host_channels_are_refused(char **arguments)
{
    open_board(arguments[0]);
    must_be(hostchannel_create(board, "pipe", 1024, 1) < 0, "there are none");
}

/* Kernels: registers at the offsets of interfaces since 2023 */

static unsigned reg(size_t offset)
{
    unsigned value = 0;
    must_be(read(board, NULL, sizeof value, &value, kernels, offset) == 0, "a register is read");
    return value;
}

static void set_reg(size_t offset, unsigned value)
{
    must_be(write(board, NULL, sizeof value, &value, kernels, offset) == 0, "a register is set");
}

static void the_rom_describes_the_memories(char **arguments)
{
    static char rom[4096];
    open_board(arguments[0]);
    must_be(reg(0) == 0xa0c00001, "the interface is one that runtimes know");
    must_be(read(board, NULL, sizeof rom, rom, kernels, 0x2000) == 0, "the ROM is read");
    must_be(strncmp(rom, "23 ", 3) == 0 && strstr(rom, arguments[1]) != NULL, "autodiscovery");
    must_be(reg(0x30) != 0, "kernels are out of reset");
}

static void *load_file(const char *path, size_t *size)
{
    static char image[1 << 20];
    FILE *file = fopen(path, "rb");
    must_be(file != NULL, path);
    *size = fread(image, 1, sizeof image, file);
    fclose(file);
    return image;
}

static void program_with(const char *path)
{
    size_t size;
    void *image = load_file(path, &size);
    must_be(program(board, image, size, AOCL_MMD_PROGRAM_PRESERVE_GLOBAL_MEM) == board,
            "the board is programmed");
}

static volatile int interrupts;

static void kernel_ended(int handle, void *data)
{
    must_be(handle == board && data == got, "the handler gets what it was registered with");
    interrupts++;
}

struct launch {
    unsigned dimensions, group_items, global[3], groups[3], local[3], padding;
    uint64_t offset[3];
    uint64_t in, out;
    int add;
};

/* Kernel `add` of the test's program: out[i] = in[i] + add. Its registers begin at 0. */
static void write_launch(uint64_t in, uint64_t out, int add)
{
    struct launch launch = {
        1, 64, {COUNT, 1, 1}, {COUNT / 64, 1, 1}, {64, 1, 1}, 0, {0, 0, 0}, in, out, add};
    set_reg(0x20, 0);
    must_be(write(board, NULL, offsetof(struct launch, add) + sizeof add, &launch, kernels,
                  0x1038) == 0,
            "the invocation image is written");
}

static void expect_added(size_t where, int add)
{
    must_be(read(board, NULL, BYTES, got, memory, where) == 0, "a read");
    for (int i = 0; i < COUNT; i++)
        must_be(got[i] == sent[i] + add, "the kernel ran");
}

static void a_kernel_runs_when_its_start_register_is_written(char **arguments)
{
    open_board(arguments[0]);
    set_interrupt_handler(board, kernel_ended, got);
    program_with(arguments[1]);
    must_be(reg(0x1000) >> 16 == 5, "the version of its registers");
    must_be(write(board, NULL, BYTES, sent, memory, begin) == 0, "a write");
    write_launch(begin, begin + BYTES, 5);
    set_reg(0x1008, 0);
    must_be(!(reg(0x1000) & 0x8000), "0 starts nothing");
    set_reg(0x1008, 1);
    await(&interrupts, 1);
    must_be(reg(0x1000) & 2, "it is done");
    must_be(reg(0x1030) == 1, "it has finished once");
    must_be(reg(0x1030) == 0 && !(reg(0x1000) & 2), "which is told once");
    expect_added(begin + BYTES, 5);
}

static void a_kernel_takes_two_launches_at_a_time(char **arguments)
{
    unsigned finished = 0;
    open_board(arguments[0]);
    set_interrupt_handler(board, kernel_ended, got);
    program_with(arguments[1]);
    must_be(write(board, NULL, BYTES, sent, memory, begin) == 0, "a write");
    write_launch(begin, begin + BYTES, 5);
    set_reg(0x1008, 1);
    write_launch(begin + BYTES, begin + 2 * BYTES, 6);
    set_reg(0x1008, 1);
    await(&interrupts, 2);
    finished = reg(0x1030);
    must_be(finished == 2, "both have finished");
    expect_added(begin + BYTES, 5);
    expect_added(begin + 2 * BYTES, 11);
}

static void kernels_work_on_host_memory(char **arguments)
{
    int error;
    open_board(arguments[0]);
    set_interrupt_handler(board, kernel_ended, got);
    program_with(arguments[1]);
    int *host = host_alloc(&board, 1, BYTES, 0, NULL, &error);
    must_be(host != NULL, "host memory");
    memcpy(host, sent, BYTES);
    write_launch((uintptr_t)host, begin, 9);
    set_reg(0x1008, 1);
    await(&interrupts, 1);
    expect_added(begin, 9);
}

static void a_kernel_that_cannot_run_ends_all_the_same(char **arguments)
{
    open_board(arguments[0]);
    set_interrupt_handler(board, kernel_ended, got);
    program_with(arguments[1]);
    write_launch(begin, (uintptr_t)&board, 5); /* memory that no board reaches */
    set_reg(0x1008, 1);
    await(&interrupts, 1);
    must_be(reg(0x1030) == 1, "boards know no other end");
}

static void registers_that_are_not_there_are_refused(char **arguments)
{
    unsigned value = 0;
    open_board(arguments[0]);
    must_be(read(board, NULL, 4, &value, kernels, 0x1000) != 0, "no kernel before programming");
    must_be(write(board, NULL, 4, &value, kernels, 0x700) != 0, "no such register");
    program_with(arguments[1]);
    must_be(read(board, NULL, 4, &value, kernels, 0x1018) != 0, "no performance counters");
}

static void an_image_of_a_real_board_is_refused(char **arguments)
{
    open_board(arguments[0]);
    must_be(program(board, sent, BYTES, 0) < 0, "it holds nothing that could run");
}

static void the_process_may_end_with_everything_open(char **arguments)
{
    static int op;
    open_board(arguments[0]);
    program_with(arguments[1]);
    must_be(write(board, &op, BYTES, sent, memory, begin) == 0, "a write begins");
    write_launch(begin, begin + BYTES, 5);
    set_reg(0x1008, 1);
}

#define RULE(name) {#name, name}
static const struct {
    const char *name;
    void (*check)(char **);
} rules[] = {
    RULE(names_are_told_before_any_board_is_open),
    RULE(a_name_that_is_none_is_refused),
    RULE(interfaces_differ),
    RULE(sizes_are_size_t_and_temperatures_float),
    RULE(an_answer_without_room_is_refused_and_its_size_told),
    RULE(what_is_written_is_read_and_copied),
    RULE(the_end_of_a_transfer_with_a_handle_is_told),
    RULE(a_handle_of_several_transfers_is_told_once),
    RULE(handlers_are_called_by_who_yields),
    RULE(blocking_calls_tell_the_status_handler_nothing),
    RULE(addresses_that_no_memory_has_are_refused),
    RULE(a_board_that_was_closed_can_be_opened_again),
    RULE(host_memory_is_given_aligned_and_taken_back_once),
    RULE(what_host_memory_cannot_be_has_an_error_of_its_own),
    RULE(host_channels_are_refused),
    RULE(the_rom_describes_the_memories),
    RULE(a_kernel_runs_when_its_start_register_is_written),
    RULE(a_kernel_takes_two_launches_at_a_time),
    RULE(kernels_work_on_host_memory),
    RULE(a_kernel_that_cannot_run_ends_all_the_same),
    RULE(registers_that_are_not_there_are_refused),
    RULE(an_image_of_a_real_board_is_refused),
    RULE(the_process_may_end_with_everything_open),
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (argc > 1 && strcmp(argv[1], rules[i].name) == 0) {
            load();
            rules[i].check(argv + 2);
            return 0;
        }
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        puts(rules[i].name);
    return 2;
}
