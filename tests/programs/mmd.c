/* SPDX-License-Identifier: Apache-2.0
 *
 * A program written to aocl_mmd.h alone, as runtimes are: it opens the library that an .fcd file
 * names and drives the board. Each rule is a function; the first argument says which one, the
 * others are what it needs. Silent and 0 where the rule holds. */
#include <aocl_mmd.h>
#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <stdbool.h>
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

#define close mmd_close
#define read mmd_read
#define write mmd_write
#define free mmd_free
#define EACH(FUNCTION)                                                                             \
    FUNCTION(get_offline_info)                                                                     \
    FUNCTION(get_info)                                                                             \
    FUNCTION(open)                                                                                 \
    FUNCTION(close)                                                                                \
    FUNCTION(set_interrupt_handler)                                                                \
    FUNCTION(set_device_interrupt_handler)                                                         \
    FUNCTION(set_status_handler)                                                                   \
    FUNCTION(yield)                                                                                \
    FUNCTION(read)                                                                                 \
    FUNCTION(write)                                                                                \
    FUNCTION(copy)                                                                                 \
    FUNCTION(program)                                                                              \
    FUNCTION(host_alloc)                                                                           \
    FUNCTION(shared_alloc)                                                                         \
    FUNCTION(free)                                                                                 \
    FUNCTION(hostchannel_create)
#define DECLARE(name) static __typeof__(aocl_mmd_##name) *name;
EACH(DECLARE)

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
#define FIND(name) name = symbol("aocl_mmd_" #name);
    EACH(FIND)
}

/* A board and some of its memory */

static int board, memory, kernels;
static size_t begin;
static int sent[COUNT], got[COUNT];
static char **arguments; /* of the rule: where the memory begins, and what else it needs */

static int number(aocl_mmd_info_t query)
{
    int answer = -7;
    must_be(get_info(board, query, sizeof answer, &answer, NULL) == 0, "a query of the board");
    return answer;
}

static void open_board(void)
{
    board = open("acl0");
    must_be(board >= 0, "the board opens");
    memory = number(AOCL_MMD_MEMORY_INTERFACE);
    kernels = number(AOCL_MMD_KERNEL_INTERFACES);
    begin = strtoull(arguments[0], NULL, 0);
    for (int i = 0; i < COUNT; i++)
        sent[i] = 3 * i + 1;
}

static void send_all(void)
{
    must_be(write(board, NULL, BYTES, sent, memory, begin) == 0, "a write");
}

/* Rules */

static void names_are_told_before_any_board_is_open(void)
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

static void a_name_that_is_none_is_refused(void)
{
    must_be(open("acl7") < 0, "there is no such board");
    must_be(open(NULL) < 0, "NULL is no name");
}

static void interfaces_differ(void)
{
    must_be(memory >= 0 && kernels >= 0 && memory != kernels, "memory and kernels have interfaces");
    must_be(number(AOCL_MMD_PLL_INTERFACES) < 0, "kernels have no clock to set");
}

static void sizes_are_size_t_and_temperatures_float(void)
{
    size_t alignment = 0, size = 0;
    float celsius = 0;
    must_be(get_info(board, AOCL_MMD_MIN_HOST_MEMORY_ALIGNMENT, sizeof alignment, &alignment,
                     &size) == 0 &&
                size == sizeof alignment && alignment >= 64,
            "an alignment");
    must_be(get_info(board, AOCL_MMD_TEMPERATURE, sizeof celsius, &celsius, NULL) == 0 &&
                celsius > 0 && celsius < 150,
            "a temperature");
}

static void an_answer_without_room_is_refused_and_its_size_told(void)
{
    char text[2] = "";
    size_t size = 0;
    must_be(get_info(board, AOCL_MMD_BOARD_NAME, sizeof text, text, &size) < 0, "no room");
    must_be(size > sizeof text && text[0] == '\0', "nothing is written");
}

static void what_is_written_is_read_and_copied(void)
{
    send_all();
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

static void the_end_of_a_transfer_with_a_handle_is_told(void)
{
    int write_op, read_op;
    must_be(set_status_handler(board, transfer_ended, sent) == 0, "a handler");
    must_be(write(board, &write_op, BYTES, sent, memory, begin) == 0, "a write begins");
    await(&ended, 1);
    must_be(ended_op == &write_op && ended_with == 0, "its handle and status are told");
    must_be(read(board, &read_op, BYTES, got, memory, begin) == 0, "a read begins");
    await(&ended, 2);
    must_be(ended_op == &read_op && memcmp(sent, got, BYTES) == 0, "its bytes are there");
}

static void a_handle_of_several_transfers_is_told_once(void)
{
    enum { ROWS = 16, ROW = BYTES / ROWS };
    int op;
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

static void handlers_are_called_by_who_yields(void)
{
    int op;
    set_status_handler(board, transfer_ended, sent);
    must_be(write(board, &op, BYTES, sent, memory, begin) == 0, "a write begins");
    usleep(50000);
    must_be(ended == 0, "nobody else is told");
    must_be(yield(board) != 0 && ended == 1, "the end was waiting");
}

static void blocking_calls_tell_the_status_handler_nothing(void)
{
    set_status_handler(board, transfer_ended, sent);
    send_all();
    must_be(ended == 0, "nobody was told");
}

static void addresses_that_no_memory_has_are_refused(void)
{
    must_be(write(board, NULL, BYTES, sent, memory, ~(size_t)0 - 64) != 0, "beyond everything");
    must_be(write(board, NULL, BYTES, sent, 7, begin) != 0, "no such interface");
    must_be(write(board, NULL, BYTES, NULL, memory, begin) != 0, "NULL");
    must_be(read(board + 1, NULL, BYTES, got, memory, begin) != 0, "a board that is not open");
}

static void a_board_that_was_closed_can_be_opened_again(void)
{
    must_be(open("acl0") < 0, "it is open");
    must_be(close(board) == 0, "it closes");
    must_be(close(board) != 0, "it is closed");
    must_be(read(board, NULL, BYTES, got, memory, begin) != 0, "nothing is read of a closed board");
    open_board();
    send_all();
}

static void host_memory_is_given_aligned_and_taken_back_once(void)
{
    int error = 7;
    char *given = host_alloc(&board, 1, 10000, 8192, NULL, &error);
    must_be(given != NULL && error == AOCL_MMD_ERROR_SUCCESS, "memory");
    must_be((uintptr_t)given % 8192 == 0, "it is aligned");
    memset(given, 7, 10000);
    must_be(free(given + 1) == AOCL_MMD_ERROR_INVALID_POINTER, "a pointer into it is none");
    must_be(free(given) == 0, "it is freed");
    must_be(free(given) == AOCL_MMD_ERROR_INVALID_POINTER, "it is gone");
    must_be(host_alloc(&board, 1, 64, 1, NULL, NULL) != NULL, "1 is a power of two");
}

static void what_host_memory_cannot_be_has_an_error_of_its_own(void)
{
    int error = 7, closed = board + 1;
    aocl_mmd_mem_properties_t bank[] = {AOCL_MMD_MEM_PROPERTIES_MEMORY_BANK, 1, 0};
    must_be(!host_alloc(&board, 1, 64, 3, NULL, &error), "no power of two");
    must_be(error == AOCL_MMD_ERROR_UNSUPPORTED_ALIGNMENT, "that is told");
    must_be(!host_alloc(&board, 1, 64, 64, bank, &error), "no such property");
    must_be(error == AOCL_MMD_ERROR_UNSUPPORTED_PROPERTY, "that is told");
    must_be(!shared_alloc(closed, 64, 64, NULL, &error), "no such board");
    must_be(error == AOCL_MMD_ERROR_INVALID_HANDLE, "that is told");
    must_be(!host_alloc(&board, 1, 64, 0, NULL, NULL) == 0, "the error need not be asked for");
}

static void host_channels_are_refused(void)
{
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

static void the_rom_describes_the_memories(void)
{
    static char rom[4096];
    must_be(reg(0) == 0xa0c00001, "the interface is one that runtimes know");
    must_be(read(board, NULL, sizeof rom, rom, kernels, 0x2000) == 0, "the ROM is read");
    must_be(strncmp(rom, "23 ", 3) == 0 && strstr(rom, arguments[1]) != NULL, "autodiscovery");
    must_be(reg(0x30) != 0, "kernels are out of reset");
}

static void program_board(void)
{
    static char image[1 << 20];
    FILE *file = fopen(arguments[1], "rb");
    must_be(file != NULL, arguments[1]);
    size_t size = fread(image, 1, sizeof image, file);
    fclose(file);
    must_be(program(board, image, size, AOCL_MMD_PROGRAM_PRESERVE_GLOBAL_MEM) == board,
            "the board is programmed");
}

static volatile int interrupts;

static void kernel_ended(int handle, void *data)
{
    must_be(handle == board && data == got, "the handler gets what it was registered with");
    interrupts++;
}

static void prepare_kernels(void)
{
    set_interrupt_handler(board, kernel_ended, got);
    program_board();
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

static void launch(uint64_t in, uint64_t out, int add)
{
    write_launch(in, out, add);
    set_reg(0x1008, 1);
}

static void expect_added(size_t where, int add)
{
    must_be(read(board, NULL, BYTES, got, memory, where) == 0, "a read");
    for (int i = 0; i < COUNT; i++)
        must_be(got[i] == sent[i] + add, "the kernel ran");
}

static void a_kernel_runs_when_its_start_register_is_written(void)
{
    prepare_kernels();
    must_be(reg(0x1000) >> 16 == 5, "the version of its registers");
    send_all();
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

static void a_kernel_takes_two_launches_at_a_time(void)
{
    unsigned finished = 0;
    prepare_kernels();
    send_all();
    launch(begin, begin + BYTES, 5);
    launch(begin + BYTES, begin + 2 * BYTES, 6);
    await(&interrupts, 2);
    finished = reg(0x1030);
    must_be(finished == 2, "both have finished");
    expect_added(begin + BYTES, 5);
    expect_added(begin + 2 * BYTES, 11);
}

static void kernels_work_on_host_memory(void)
{
    int error;
    prepare_kernels();
    int *host = host_alloc(&board, 1, BYTES, 0, NULL, &error);
    must_be(host != NULL, "host memory");
    memcpy(host, sent, BYTES);
    launch((uintptr_t)host, begin, 9);
    await(&interrupts, 1);
    expect_added(begin, 9);
}

static void a_board_at_work_is_neither_closed_nor_programmed(void)
{
    prepare_kernels();
    int *host = host_alloc(&board, 1, BYTES, 0, NULL, NULL);
    must_be(host != NULL, "host memory");
    memset(host, 0xff, BYTES); /* the kernel waits while these are negative */
    launch((uintptr_t)host, begin, 9);
    must_be(close(board) != 0, "it is not closed");
    must_be(program(board, sent, BYTES, 0) < 0, "it is not programmed");
    memcpy(host, sent, BYTES);
    await(&interrupts, 1);
    expect_added(begin, 9);
    must_be(close(board) == 0, "it closes");
}

static void a_host_may_change_its_folder(void)
{
    must_be(chdir("/") == 0, "another folder");
    prepare_kernels();
    send_all();
    launch(begin, begin + BYTES, 5);
    await(&interrupts, 1);
    expect_added(begin + BYTES, 5);
}

static void a_kernel_that_cannot_run_ends_all_the_same(void)
{
    prepare_kernels();
    launch(begin, (uintptr_t)&board, 5); /* memory that no board reaches */
    await(&interrupts, 1);
    must_be(reg(0x1030) == 1, "boards know no other end");
}

static void registers_that_are_not_there_are_refused(void)
{
    unsigned value = 0;
    must_be(read(board, NULL, 4, &value, kernels, 0x1000) != 0, "no kernel before programming");
    must_be(write(board, NULL, 4, &value, kernels, 0x700) != 0, "no such register");
    program_board();
    must_be(read(board, NULL, 4, &value, kernels, 0x1018) != 0, "no performance counters");
    must_be(read(board, NULL, 4, &value, kernels, 0x1014) == 0, "the register before them");
}

static void an_image_of_a_real_board_is_refused(void)
{
    must_be(program(board, sent, BYTES, 0) < 0, "it holds nothing that could run");
}

static void the_process_may_end_with_everything_open(void)
{
    static int op;
    program_board();
    must_be(write(board, &op, BYTES, sent, memory, begin) == 0, "a write begins");
    launch(begin, begin + BYTES, 5);
}

#define RULE(name) {#name, name, true}
#define RULE_WITHOUT_BOARD(name) {#name, name, false}
static const struct {
    const char *name;
    void (*check)(void);
    bool is_open; /* the board, before it */
} rules[] = {
    RULE_WITHOUT_BOARD(names_are_told_before_any_board_is_open),
    RULE_WITHOUT_BOARD(a_name_that_is_none_is_refused),
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
    RULE(a_board_at_work_is_neither_closed_nor_programmed),
    RULE(a_host_may_change_its_folder),
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
            arguments = argv + 2;
            if (rules[i].is_open)
                open_board();
            rules[i].check();
            return 0;
        }
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        puts(rules[i].name);
    return 2;
}
