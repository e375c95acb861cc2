// Where this program begins, before the C library does. The kernel puts a program, its stack and
// its heap each somewhere else in the address space, and what leads to one page there takes three
// more of page tables: 24 kB of every guest. So the stack is moved to behind the program, and the
// heap is told to begin behind the stack; where that cannot be, all stays as it is.
//
// Where in the address space they are is as random as before; how far apart they are is known but
// for the pages of `scatter`, as it is of a library and what is mapped beside it.
//
// Nothing here may need what is not relocated yet, nor memory of a thread, nor a function of the C
// library: so no memcpy either, which a loop could be made into.

#include <cstddef>
#include <cstdint>

#include <elf.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include <sys/syscall.h>

// NOLINTBEGIN(performance-no-int-to-ptr,bugprone-reserved-identifier,readability-identifier-naming):
// what is moved are addresses, and the linker has names of its own

namespace {

using Word = std::uint64_t;

constexpr Word page = 4096;
constexpr Word stack_size = 512UL * 1024; // as that of a guest's other threads
constexpr Word guard = 128UL * 1024;
constexpr Word heap_room = 256UL * 1024; // what is mostly in use of it
constexpr Word one_table = 2UL * 1024 * 1024;
constexpr Word initial_stack = 256UL * 1024; // no less than the kernel makes at first

/// What the program is told on its stack when it begins.
struct Arguments {
    Word* words; ///< argc, argv, environment, auxiliary vector
    Word* variables;
    Word* auxiliary;
    Word words_end;   ///< with the bytes that the auxiliary vector names
    Word strings;     ///< of argv and the environment
    Word name;        ///< the last of them, the program's
    Word strings_end; ///< and of the stack
    Word random;
};

/// Where both shall be.
struct Place {
    Word stack;
    Word stack_end;
    Word heap;
};

} // namespace

extern "C" {

/// Of the linker.
[[gnu::visibility("hidden")]] extern const char __ehdr_start[];
[[gnu::visibility("hidden")]] extern const char etext[];
[[gnu::visibility("hidden")]] extern const char edata[];
[[gnu::visibility("hidden")]] extern const char end[];

/// Both in registers. `old_end` 0: nothing was moved.
struct Moved {
    Word* words;
    Word old_end;
};
}

namespace {

Word call(Word number, Word a, Word b, Word c = 0, Word d = 0, Word e = 0, Word f = 0)
{
    register Word fourth asm("r10") = d;
    register Word fifth asm("r8") = e;
    register Word sixth asm("r9") = f;
    Word result = number;
    asm volatile("syscall"
                 : "+a"(result)
                 : "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                 : "rcx", "r11", "memory");
    return result;
}

void copy(Word to, Word from, Word size)
{
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

Word end_of_text(Word text)
{
    const volatile char* at = reinterpret_cast<const char*>(text);
    while (*at != '\0') {
        at = at + 1;
    }
    return reinterpret_cast<Word>(at) + 1;
}

Word upwards(Word value, Word step)
{
    return (value + step - 1) / step * step;
}

/// False where the stack does not look as Linux leaves it.
bool look_at(Word* words, Arguments& found)
{
    found.words = words;
    const Word count = words[0];
    if (count == 0) {
        return false;
    }
    found.strings = words[1];
    found.variables = words + count + 2;
    Word* at = found.variables;
    while (*at != 0) {
        ++at;
    }
    found.auxiliary = ++at;
    found.words_end = 0;
    found.random = found.name = 0;
    const auto reach = [&](Word to) {
        found.words_end = found.words_end < to ? to : found.words_end;
    };
    for (; at[0] != AT_NULL; at += 2) {
        if (at[0] == AT_RANDOM) {
            found.random = at[1];
            reach(at[1] + 16);
        } else if (at[0] == AT_PLATFORM || at[0] == AT_BASE_PLATFORM) {
            reach(end_of_text(at[1]));
        } else if (at[0] == AT_EXECFN) {
            found.name = at[1];
        }
    }
    reach(reinterpret_cast<Word>(at + 2));
    if (found.random == 0 || found.name == 0) {
        return false;
    }
    found.strings_end = end_of_text(found.name) + sizeof(Word);
    return found.strings_end % page == 0 && found.words_end <= found.strings &&
           found.name >= found.strings &&
           found.strings_end - reinterpret_cast<Word>(words) < stack_size / 4;
}

/// In one page table where that can be.
Place choose(Word random)
{
    constexpr Word scatter = 32; // pages
    const Word program_end = upwards(reinterpret_cast<Word>(end), page);
    const auto* bytes = reinterpret_cast<const unsigned char*>(random);
    Place place{};
    place.stack = program_end + guard + bytes[0] % scatter * page;
    place.stack_end = place.stack + stack_size;
    const Word border = upwards(place.stack_end, one_table);
    if (border - place.stack_end < heap_room) { // else it would lie between the two, or within one
        place.stack_end = border + guard;
        place.stack = place.stack_end - stack_size;
    }
    place.heap = place.stack_end + (1 + bytes[1] % scatter) * page;
    return place;
}

/// False where the kernel does not let it: without CONFIG_CHECKPOINT_RESTORE, or what is there
/// already.
bool make(const Place& place, const Arguments& arguments, Word moved_by)
{
    const Word whole = place.stack - guard;
    const Word size = place.stack_end - whole;
    // Without the guard an overflow of the stack would write to what the program's variables are.
    if (call(SYS_mmap, whole, size, 0 /* PROT_NONE */,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
             ~Word{0}, 0) != whole) {
        return false;
    }
    prctl_mm_map map{};
    map.start_code = reinterpret_cast<Word>(__ehdr_start);
    map.end_code = reinterpret_cast<Word>(etext);
    map.start_data = map.end_code;
    map.end_data = reinterpret_cast<Word>(edata);
    map.start_brk = map.brk = place.heap;
    map.start_stack = place.stack_end - page;
    map.arg_start = arguments.strings + moved_by;
    map.env_end = arguments.name + moved_by;
    map.arg_end = arguments.variables[0] != 0 ? arguments.variables[0] + moved_by : map.env_end;
    map.env_start = map.arg_end;
    map.exe_fd = ~std::uint32_t{0};
    constexpr Word read_write = 3;
    if (call(SYS_mprotect, place.stack, stack_size, read_write) == 0 &&
        call(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, reinterpret_cast<Word>(&map), sizeof map) == 0) {
        return true;
    }
    call(SYS_munmap, whole, size);
    return false;
}

} // namespace

extern "C" {

/// From the kernel's stack, on which it still runs.
[[gnu::used, gnu::visibility("hidden")]] Moved berth_near_stack(Word* words)
{
    Arguments old{};
    if (!look_at(words, old)) {
        return {words, 0};
    }
    const Place place = choose(old.random);
    const Word strings_by = place.stack_end - old.strings_end;
    if (!make(place, old, strings_by)) {
        return {words, 0};
    }
    const Word begin = reinterpret_cast<Word>(words);
    const Word strings = old.strings + strings_by;
    const Word moved = (strings - (old.words_end - begin)) / 16 * 16;
    const Word words_by = moved - begin;
    copy(strings, old.strings, old.strings_end - old.strings);
    copy(moved, begin, old.words_end - begin);
    Word* at = reinterpret_cast<Word*>(moved) + 1;
    Word* const auxiliary = at + (old.auxiliary - words) - 1;
    for (; at != auxiliary; ++at) {
        *at += *at != 0 ? strings_by : 0;
    }
    for (; at[0] != AT_NULL; at += 2) {
        if (at[0] == AT_RANDOM || at[0] == AT_PLATFORM || at[0] == AT_BASE_PLATFORM) {
            at[1] += words_by;
        } else if (at[0] == AT_EXECFN) {
            at[1] += strings_by;
        }
    }
    return {reinterpret_cast<Word*>(moved), old.strings_end};
}

/// On the new one.
[[gnu::used, gnu::visibility("hidden")]] void berth_drop_stack(Word old_words, Word old_end)
{
    const Word from = old_words / page * page - initial_stack;
    call(SYS_munmap, from, old_end - from);
}
}

// NOLINTEND(performance-no-int-to-ptr,bugprone-reserved-identifier,readability-identifier-naming)

asm(R"(
    .pushsection .text
    .globl berth_start
    .hidden berth_start
    .type berth_start, @function
berth_start:
    .cfi_startproc
    .cfi_undefined rip
    endbr64
    xorl %ebp, %ebp
    movq %rdx, %r12
    movq %rsp, %rbx
    movq %rsp, %rdi
    call berth_near_stack
    movq %rax, %rsp
    testq %rdx, %rdx
    jz 1f
    movq %rbx, %rdi
    movq %rdx, %rsi
    call berth_drop_stack
1:  movq %r12, %rdx
    jmp _start
    .cfi_endproc
    .size berth_start, . - berth_start
    .popsection
)");
