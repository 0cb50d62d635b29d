// SPDX-License-Identifier: Apache-2.0
// Integer intrinsics over seeded and edge operands, against plain C on the host (CUDA Math API,
// "Integer Intrinsics" and "Integer Mathematical Functions").
#include "check.h"

#include <algorithm>

typedef unsigned long long Wide;
typedef unsigned __int128 Widest;
constexpr int kN = 256, kResults = 34;

struct Operands {
  unsigned a, b, c;
  Wide l, m;
};

__global__ void Intrinsics(const Operands* in, Wide* out) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  const Operands v = in[t];
  Wide* o = out + t * kResults;
  int at = 0;
  o[at++] = unsigned(__popc(v.a)), o[at++] = unsigned(__clz(int(v.a))),
  o[at++] = unsigned(__ffs(int(v.a)));
  o[at++] = __brev(v.a), o[at++] = unsigned(__popcll(v.l)),
  o[at++] = unsigned(__clzll((long long)v.l));
  o[at++] = unsigned(__ffsll((long long)v.l)), o[at++] = __brevll(v.l);
  o[at++] = unsigned(__mulhi(int(v.a), int(v.b))), o[at++] = __umulhi(v.a, v.b);
  o[at++] = Wide(__mul64hi((long long)v.l, (long long)v.m)), o[at++] = __umul64hi(v.l, v.m);
  o[at++] = unsigned(__mul24(int(v.a), int(v.b))), o[at++] = __umul24(v.a, v.b);
  o[at++] = unsigned(__hadd(int(v.a), int(v.b))), o[at++] = unsigned(__rhadd(int(v.a), int(v.b)));
  o[at++] = __uhadd(v.a, v.b), o[at++] = __urhadd(v.a, v.b);
  o[at++] = __sad(int(v.a), int(v.b), v.c), o[at++] = __usad(v.a, v.b, v.c);
  o[at++] = __byte_perm(v.a, v.b, v.c);
  o[at++] = __funnelshift_l(v.a, v.b, v.c), o[at++] = __funnelshift_r(v.a, v.b, v.c);
  o[at++] = __funnelshift_lc(v.a, v.b, v.c % 40), o[at++] = __funnelshift_rc(v.a, v.b, v.c % 40);
  o[at++] = unsigned(__dp4a(int(v.a), int(v.b), int(v.c))), o[at++] = __dp4a(v.a, v.b, v.c);
  o[at++] = unsigned(min(int(v.a), int(v.b))), o[at++] = max(v.a, v.b);
  o[at++] = Wide(min((long long)v.l, (long long)v.m)), o[at++] = max(v.l, v.m);
  o[at++] = unsigned(abs(int(v.a | 1u))), o[at++] = Wide(llabs((long long)(v.l | 1)));
  o[at++] = __float_as_uint(__uint_as_float(v.a & 0x3fffffffu));
}

static unsigned Reverse(unsigned x) {
  unsigned r = 0;
  for (int i = 0; i < 32; ++i) r |= (x >> i & 1u) << (31 - i);
  return r;
}
static int Leading(Wide x, int width) {
  int n = 0;
  while (n < width && !(x >> (width - 1 - n) & 1)) ++n;
  return n;
}
static int First(Wide x) {
  for (int i = 0; i < 64; ++i)
    if (x >> i & 1) return i + 1;
  return 0;
}
static unsigned Permute(unsigned a, unsigned b, unsigned s) {
  const Wide all = Wide(b) << 32 | a;
  unsigned r = 0;
  for (int i = 0; i < 4; ++i) r |= unsigned(all >> ((s >> (4 * i) & 7) * 8) & 0xff) << (8 * i);
  return r;
}
static int Signed24(unsigned x) { return int(x << 8) >> 8; }

int main() {
  const unsigned edges[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0x00800000};
  std::vector<Operands> in(kN);
  for (unsigned i = 0; i < kN; ++i) {
    Operands& v = in[i];
    v.a = i < 64 ? edges[i % 8] : cts::Mix(i) >> (i % 32),
    v.b = i < 64 ? edges[i / 8] : cts::Mix(i + 1000);
    v.c = cts::Mix(i + 2000) &
          0x7777u;  // a byte_perm selector without the sign bit, which is not documented
    v.l = Wide(cts::Mix(i + 3000)) << (i % 33) ^ v.a, v.m = Wide(cts::Mix(i + 4000)) << 32 | v.b;
  }
  cts::Buffer<Operands> operands(in);
  cts::Buffer<Wide> out(kN * kResults);
  Intrinsics<<<kN / 64, 64>>>(operands.get(), out.get());
  CTS_DONE();
  const std::vector<Wide> got = out.Read();
  for (int t = 0; t < kN; ++t) {
    const Operands v = in[t];
    const int a = int(v.a), b = int(v.b);
    const long long l = (long long)v.l, m = (long long)v.m, la = a, lb = b;
    const Wide ba = Wide(v.b) << 32 | v.a;
    const unsigned s = v.c & 31, sc = std::min(v.c % 40, 32u);
    unsigned dot = v.c, udot = v.c;
    for (int i = 0; i < 4; ++i) {
      dot += unsigned(int((signed char)(v.a >> 8 * i)) * int((signed char)(v.b >> 8 * i)));
      udot += (v.a >> 8 * i & 255) * (v.b >> 8 * i & 255);
    }
    const Wide expected[kResults] = {
        Wide(__builtin_popcount(v.a)),
        Wide(Leading(v.a, 32)),
        Wide(First(v.a)),
        Reverse(v.a),
        Wide(__builtin_popcountll(v.l)),
        Wide(Leading(v.l, 64)),
        Wide(First(v.l)),
        Wide(Reverse(unsigned(v.l))) << 32 | Reverse(unsigned(v.l >> 32)),
        unsigned((la * lb) >> 32),
        unsigned((Wide(v.a) * v.b) >> 32),
        Wide(__int128(l) * m >> 64),
        Wide(Widest(v.l) * v.m >> 64),
        unsigned(Signed24(v.a)) * unsigned(Signed24(v.b)),
        (v.a & 0xffffffu) * (v.b & 0xffffffu),
        unsigned((la + lb) >> 1),
        unsigned((la + lb + 1) >> 1),
        unsigned((Wide(v.a) + v.b) >> 1),
        unsigned((Wide(v.a) + v.b + 1) >> 1),
        v.c + unsigned(la > lb ? la - lb : lb - la),
        v.c + (v.a > v.b ? v.a - v.b : v.b - v.a),
        Permute(v.a, v.b, v.c),
        unsigned((ba << s) >> 32),
        unsigned(ba >> s),
        unsigned(sc == 32 ? v.a : (ba << sc) >> 32),
        unsigned(sc == 32 ? v.b : ba >> sc),
        dot,
        udot,
        unsigned(std::min(a, b)),
        std::max(v.a, v.b),
        Wide(std::min(l, m)),
        std::max(v.l, v.m),
        unsigned(std::abs((long long)int(v.a | 1u))),
        Wide(l | 1) >> 63 ? 0 - Wide(l | 1) : Wide(l | 1),
        v.a & 0x3fffffffu};
    for (int k = 0; k < kResults; ++k)
      cts::Equal(
          got[t * kResults + k], expected[k], __FILE__, __LINE__,
          got[t * kResults + k] == expected[k]
              ? ""
              : ("intrinsic " + std::to_string(k) + " of operands " + std::to_string(t)).c_str());
  }
  return cts::Finish();
}
