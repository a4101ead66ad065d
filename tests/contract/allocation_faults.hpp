#pragma once

namespace rdmagpu::test {

/// Makes the n-th allocation with operator new on this thread, from now on, throw bad_alloc; 0: none.
void failAllocation(int n) noexcept;
/// Whether that allocation was made.
bool allocationFailed() noexcept;

} // namespace rdmagpu::test
