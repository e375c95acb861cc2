#pragma once

namespace berth::local {

/// Of main(): where a fresh stack begins. `frame`: its own frame's address.
void note_stack_top(void* frame) noexcept;

/// Runs `work` with `argument` as if main() had called it: what is on the stack now is lost,
/// without destructors, and its memory is `work`'s. Else a guest, which is begun deep in a
/// launcher, would keep that one's frames for as long as it lives.
[[noreturn]] void run_on_fresh_stack(void (*work)(void* argument), void* argument) noexcept;

} // namespace berth::local
