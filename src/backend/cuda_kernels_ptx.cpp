#include <backend/cuda_kernels_ptx.hpp>

namespace rdmagpu::backend::cuda {

// PTX 6.0 and sm_50 are what the oldest driver knows that can export GPU memory, on the oldest GPU.
// 0x9e3779b97f4a7c15 is goldenStep. The eight instructions from "shr.u64 t, ?, 30" on are mix(), each time.
const char kernelsPtx[] = R"(
.version 6.0
.target sm_50
.address_size 64

.visible .entry rdmagpu_checksum(
  .param .u64 param_from,
  .param .u64 param_bytes,
  .param .u64 param_sum
)
.reqntid 256, 1, 1
{
  .shared .align 8 .b64 partial[256];
  .reg .pred over, lower;
  .reg .u32 thread, block, blocks, shift, half;
  .reg .u64 from, bytes, result, sum, me, stride, pair, pairs, first, index;
  .reg .u64 begin, left, at, cell, key, a, b, t;

  ld.param.u64 from, [param_from];
  ld.param.u64 bytes, [param_bytes];
  ld.param.u64 result, [param_sum];
  cvta.to.global.u64 from, from;
  cvta.to.global.u64 result, result;
  mov.u32 thread, %tid.x;
  mov.u32 block, %ctaid.x;
  mov.u32 blocks, %nctaid.x;
  mul.wide.u32 me, block, 256;
  cvt.u64.u32 t, thread;
  add.u64 me, me, t;
  mul.wide.u32 stride, blocks, 256;
  mov.u64 sum, 0;

  // Two words at a time, as far as there are two, if they can be loaded like that.
  shr.u64 pairs, bytes, 4;
  and.b64 t, from, 15;
  setp.ne.u64 over, t, 0;
  @over mov.u64 pairs, 0;
  shl.b64 first, pairs, 1;
  mov.u64 pair, me;
next_pair:
  setp.ge.u64 over, pair, pairs;
  @over bra words;
  shl.b64 t, pair, 4;
  add.u64 at, from, t;
  ld.global.v2.u64 {a, b}, [at];
  shl.b64 key, pair, 1;
  add.u64 key, key, 1;
  mul.lo.u64 key, key, 0x9e3779b97f4a7c15;
  xor.b64 a, a, key;
  shr.u64 t, a, 30;
  xor.b64 a, a, t;
  mul.lo.u64 a, a, 0xbf58476d1ce4e5b9;
  shr.u64 t, a, 27;
  xor.b64 a, a, t;
  mul.lo.u64 a, a, 0x94d049bb133111eb;
  shr.u64 t, a, 31;
  xor.b64 a, a, t;
  add.u64 sum, sum, a;
  add.u64 key, key, 0x9e3779b97f4a7c15;
  xor.b64 b, b, key;
  shr.u64 t, b, 30;
  xor.b64 b, b, t;
  mul.lo.u64 b, b, 0xbf58476d1ce4e5b9;
  shr.u64 t, b, 27;
  xor.b64 b, b, t;
  mul.lo.u64 b, b, 0x94d049bb133111eb;
  shr.u64 t, b, 31;
  xor.b64 b, b, t;
  add.u64 sum, sum, b;
  add.u64 pair, pair, stride;
  bra next_pair;

  // The other words byte by byte; the last one may have fewer than eight.
words:
  add.u64 index, first, me;
next_word:
  shl.b64 begin, index, 3;
  setp.ge.u64 over, begin, bytes;
  @over bra fold;
  sub.u64 left, bytes, begin;
  min.u64 left, left, 8;
  add.u64 at, from, begin;
  mov.u64 a, 0;
  mov.u32 shift, 0;
next_byte:
  ld.global.u8 b, [at];
  shl.b64 b, b, shift;
  or.b64 a, a, b;
  add.u64 at, at, 1;
  add.u32 shift, shift, 8;
  sub.u64 left, left, 1;
  setp.ne.u64 over, left, 0;
  @over bra next_byte;
  add.u64 key, index, 1;
  mul.lo.u64 key, key, 0x9e3779b97f4a7c15;
  xor.b64 a, a, key;
  shr.u64 t, a, 30;
  xor.b64 a, a, t;
  mul.lo.u64 a, a, 0xbf58476d1ce4e5b9;
  shr.u64 t, a, 27;
  xor.b64 a, a, t;
  mul.lo.u64 a, a, 0x94d049bb133111eb;
  shr.u64 t, a, 31;
  xor.b64 a, a, t;
  add.u64 sum, sum, a;
  add.u64 index, index, stride;
  bra next_word;

  // The block's sum: the upper half's to the lower half, until one is left.
fold:
  mov.u64 cell, partial;
  mul.wide.u32 t, thread, 8;
  add.u64 cell, cell, t;
  st.shared.u64 [cell], sum;
  mov.u32 half, 128;
next_half:
  bar.sync 0;
  setp.lt.u32 lower, thread, half;
  mul.wide.u32 t, half, 8;
  add.u64 at, cell, t;
  @lower ld.shared.u64 a, [at];
  @lower add.u64 sum, sum, a;
  @lower st.shared.u64 [cell], sum;
  shr.u32 half, half, 1;
  setp.ne.u32 over, half, 0;
  @over bra next_half;
  setp.ne.u32 over, thread, 0;
  @over bra done;
  red.global.add.u64 [result], sum;
done:
  ret;
}

.visible .entry rdmagpu_poison(
  .param .u64 param_to,
  .param .u64 param_bytes,
  .param .u64 param_key
)
.reqntid 256, 1, 1
{
  .reg .pred over;
  .reg .u32 thread, block, blocks;
  .reg .u64 to, bytes, key, stride, pair, pairs, at, a, b, t;

  ld.param.u64 to, [param_to];
  ld.param.u64 bytes, [param_bytes];
  ld.param.u64 key, [param_key];
  cvta.to.global.u64 to, to;
  mov.u32 thread, %tid.x;
  mov.u32 block, %ctaid.x;
  mov.u32 blocks, %nctaid.x;
  mul.wide.u32 pair, block, 256;
  cvt.u64.u32 t, thread;
  add.u64 pair, pair, t;
  mul.wide.u32 stride, blocks, 256;
  shr.u64 pairs, bytes, 4;
next_pair:
  setp.ge.u64 over, pair, pairs;
  @over bra done;
  shl.b64 a, pair, 1;
  mul.lo.u64 a, a, 0x9e3779b97f4a7c15;
  add.u64 a, a, key;
  add.u64 b, a, 0x9e3779b97f4a7c15;
  shr.u64 t, a, 30;
  xor.b64 a, a, t;
  mul.lo.u64 a, a, 0xbf58476d1ce4e5b9;
  shr.u64 t, a, 27;
  xor.b64 a, a, t;
  mul.lo.u64 a, a, 0x94d049bb133111eb;
  shr.u64 t, a, 31;
  xor.b64 a, a, t;
  shr.u64 t, b, 30;
  xor.b64 b, b, t;
  mul.lo.u64 b, b, 0xbf58476d1ce4e5b9;
  shr.u64 t, b, 27;
  xor.b64 b, b, t;
  mul.lo.u64 b, b, 0x94d049bb133111eb;
  shr.u64 t, b, 31;
  xor.b64 b, b, t;
  shl.b64 t, pair, 4;
  add.u64 at, to, t;
  st.global.v2.u64 [at], {a, b};
  add.u64 pair, pair, stride;
  bra next_pair;
done:
  ret;
}

.visible .entry rdmagpu_sample(
  .param .align 8 .b8 param_jobs[112]
)
.reqntid 64, 1, 1
{
  .reg .pred over, aligned, whole, moved, laying;
  .reg .u32 thread, block, lane, shift, mask, which;
  .reg .u64 job, slot, table, places, key, lay, answer, number, index, cell, last, where;
  .reg .u64 width, at, cursor, left, seen, word, t;

  // The row's job.
  mov.u32 block, %ctaid.y;
  mul.wide.u32 t, block, 56;
  mov.u64 job, param_jobs;
  add.u64 job, job, t;
  ld.param.u64 slot, [job];
  ld.param.u64 table, [job + 8];
  ld.param.u64 places, [job + 16];
  ld.param.u64 key, [job + 24];
  ld.param.u64 lay, [job + 32];
  ld.param.u64 answer, [job + 40];
  ld.param.u64 number, [job + 48];
  mov.u32 block, %ctaid.x;
  mul.wide.u32 index, block, 64;
  setp.ge.u64 over, index, places;
  @over bra done;
  cvta.to.global.u64 slot, slot;
  cvta.to.global.u64 table, table;
  cvta.to.global.u64 answer, answer;
  setp.ne.u64 laying, lay, 0;
  mov.u32 thread, %tid.x;
  cvt.u64.u32 t, thread;
  add.u64 index, index, t;
  setp.ne.u32 moved, thread, thread;
  setp.ge.u64 over, index, places;
  @over bra vote;

  shl.b64 t, index, 4;
  add.u64 cell, table, t;
  ld.volatile.global.v2.u64 {last, where}, [cell];
  and.b64 width, where, 15;
  shr.u64 t, where, 4;
  add.u64 at, slot, t;
  and.b64 t, at, 7;
  setp.eq.u64 aligned, t, 0;
  setp.eq.and.u64 whole, width, 8, aligned;
  @whole ld.volatile.global.u64 seen, [at];
  @whole bra compare;
  mov.u64 seen, 0;
  mov.u32 shift, 0;
  mov.u64 cursor, at;
  mov.u64 left, width;
read_byte:
  ld.volatile.global.u8 t, [cursor];
  shl.b64 t, t, shift;
  or.b64 seen, seen, t;
  add.u64 cursor, cursor, 1;
  add.u32 shift, shift, 8;
  sub.u64 left, left, 1;
  setp.ne.u64 over, left, 0;
  @over bra read_byte;
compare:
  setp.ne.u64 moved, seen, last;
  @!laying bra remember;

  mul.lo.u64 word, index, 0x9e3779b97f4a7c15;
  add.u64 word, word, key;
  shr.u64 t, word, 30;
  xor.b64 word, word, t;
  mul.lo.u64 word, word, 0xbf58476d1ce4e5b9;
  shr.u64 t, word, 27;
  xor.b64 word, word, t;
  mul.lo.u64 word, word, 0x94d049bb133111eb;
  shr.u64 t, word, 31;
  xor.b64 word, word, t;
  mov.u64 seen, word;
  @whole st.global.u64 [at], word;
  @whole bra remember;
  mov.u64 seen, 0;
  mov.u32 shift, 0;
  mov.u64 cursor, at;
  mov.u64 left, width;
write_byte:
  and.b64 t, word, 255;
  st.global.u8 [cursor], t;
  shl.b64 t, t, shift;
  or.b64 seen, seen, t;
  shr.u64 word, word, 8;
  add.u64 cursor, cursor, 1;
  add.u32 shift, shift, 8;
  sub.u64 left, left, 1;
  setp.ne.u64 over, left, 0;
  @over bra write_byte;
remember:
  st.global.u64 [cell], seen;

  // All threads are back here, those without a place too. What a warp has written is in memory before it
  // answers: canaries for whoever writes to the slot next, the table for the next kernel here.
vote:
  vote.sync.ballot.b32 mask, moved, 0xffffffff;
  bar.warp.sync 0xffffffff;
  @laying membar.sys;
  @!laying membar.gl;
  and.b32 lane, thread, 31;
  setp.ne.u32 over, lane, 0;
  @over bra done;
  shr.u64 t, index, 5;
  shl.b64 t, t, 3;
  add.u64 at, answer, t;
  cvt.u32.u64 which, number;
  mov.b64 word, {mask, which};
  st.volatile.global.u64 [at], word;
done:
  ret;
}
)";

} // namespace rdmagpu::backend::cuda
