-- SHA-256 (FIPS 180-4) over a string, for digests of plans and sources.
--
-- Input: any string. Output: lowercase hexadecimal. Pure; nothing is read or kept. Fast enough for a few hundred
-- kilobytes of source text, not meant for files of data.

local M = {}

local MASK = 0xffffffff

local ROUND = {
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}

-- A 32-bit word doubled into the upper half is rotated by one shift; sums are masked.
local function schedule(text, at, w)
  w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13], w[14], w[15], w[16] =
    string.unpack(">I4I4I4I4I4I4I4I4I4I4I4I4I4I4I4I4", text, at)
  for t = 17, 64 do
    local x, y = w[t - 15], w[t - 2]
    local xx, yy = x << 32 | x, y << 32 | y
    w[t] = w[t - 16] + w[t - 7] + ((xx >> 7 ~ xx >> 18 ~ x >> 3) & MASK) + ((yy >> 17 ~ yy >> 19 ~ y >> 10) & MASK)
      & MASK
  end
end

local function compress(hash, w)
  local a, b, c, d, e, f, g, h = table.unpack(hash)
  for t = 1, 64 do
    local x, y = e << 32 | e, a << 32 | a
    local t1 = h + ((x >> 6 ~ x >> 11 ~ x >> 25) & MASK) + (g ~ e & (f ~ g)) + ROUND[t] + w[t]
    local t2 = ((y >> 2 ~ y >> 13 ~ y >> 22) & MASK) + (a & b | c & (a | b))
    h, g, f, e, d, c, b, a = g, f, e, d + t1 & MASK, c, b, a, t1 + t2 & MASK
  end
  hash[1], hash[2], hash[3], hash[4] = hash[1] + a & MASK, hash[2] + b & MASK, hash[3] + c & MASK, hash[4] + d & MASK
  hash[5], hash[6], hash[7], hash[8] = hash[5] + e & MASK, hash[6] + f & MASK, hash[7] + g & MASK, hash[8] + h & MASK
end

-- The 64 hexadecimal digits of text's SHA-256.
function M.hex(text)
  local zeros = (55 - #text) % 64
  local padded = text .. "\x80" .. ("\0"):rep(zeros) .. string.pack(">I8", #text * 8)
  local hash = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
  }
  local w = {}
  for at = 1, #padded, 64 do
    schedule(padded, at, w)
    compress(hash, w)
  end
  return (("%08x"):rep(8):format(table.unpack(hash)))
end

-- The digest that Longhand prints and compares: the first 16 digits.
function M.digest(text)
  return M.hex(text):sub(1, 16)
end

return M
