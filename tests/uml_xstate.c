/* User Mode Linux keeps the floating-point registers of its processes by ptrace(2) in a buffer that
 * ends with AVX-512 and PKRU. Where the processor has more (AMX), the kernel wants all of it back
 * (EFAULT), and no process starts. Preloaded, this gives UML the part that it knows, and the kernel
 * the rest as nobody has touched it. */
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Intel's manual, volume 1, chapter 13: XSTATE_BV is at 512 in what is not compacted. */
enum { STATE_BV = 512, MOST = 64 * 1024 };

typedef long (*ptrace_function)(int request, pid_t pid, void *address, void *data);

/* UML calls from one thread, whose stacks are small. */
static char all[MOST];

/* Which of the states lie within the first bytes: the last that UML knows is PKRU, number 9. */
static void leave_known(char *state)
{
    uint64_t bits;
    memcpy(&bits, state + STATE_BV, sizeof bits);
    bits &= (1U << 10) - 1;
    memcpy(state + STATE_BV, &bits, sizeof bits);
}

static long get(ptrace_function next, pid_t pid, void *type, struct iovec *known)
{
    struct iovec whole = {all, sizeof all};
    const long result = next(PTRACE_GETREGSET, pid, type, &whole);
    if (result == 0) {
        if (known->iov_len > whole.iov_len) {
            known->iov_len = whole.iov_len;
        }
        leave_known(all);
        memcpy(known->iov_base, all, known->iov_len);
    }
    return result;
}

static long set(ptrace_function next, pid_t pid, void *type, const struct iovec *known)
{
    struct iovec whole = {all, sizeof all};
    const long result = next(PTRACE_GETREGSET, pid, type, &whole); /* its size, and what UML has not */
    if (result != 0) {
        return result;
    }
    memcpy(all, known->iov_base, known->iov_len < whole.iov_len ? known->iov_len : whole.iov_len);
    leave_known(all);
    return next(PTRACE_SETREGSET, pid, type, &whole);
}

long ptrace(enum __ptrace_request request, ...)
{
    static ptrace_function next;
    va_list arguments;
    va_start(arguments, request);
    const pid_t pid = va_arg(arguments, pid_t);
    void *const address = va_arg(arguments, void *);
    void *const data = va_arg(arguments, void *);
    va_end(arguments);
    if (next == NULL) {
        next = (ptrace_function)dlsym(RTLD_NEXT, "ptrace");
    }
    if ((uintptr_t)address == NT_X86_XSTATE && request == PTRACE_GETREGSET) {
        return get(next, pid, address, data);
    }
    if ((uintptr_t)address == NT_X86_XSTATE && request == PTRACE_SETREGSET) {
        return set(next, pid, address, data);
    }
    return next((int)request, pid, address, data);
}
