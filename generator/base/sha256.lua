-- SHA-256 (FIPS 180-4) of a string, for digests of plans and files.
--
-- Input: any string. Output: lowercase hexadecimal. Pure. Fast enough for a few hundred kilobytes, not for data files.

local M = {}

local CONSTANTS = {
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}

-- The code of one round. A to H stand for the names of the round's eight working words, W for the name of its word of
-- the schedule, K for its constant. In x, the upper 32 bits repeat the lower 32 bits, so that one shift is a rotation;
-- the last step removes the upper bits.
local ROUND_CODE = [[
x = E * 0x100000001
H = H + (x >> 6 ~ x >> 11 ~ x >> 25) + (G ~ E & (F ~ G)) + W + K
D = D + H & 0xffffffff
x = A * 0x100000001
H = H + (x >> 2 ~ x >> 13 ~ x >> 22) + (A & B | C & (A | B)) & 0xffffffff
]]

-- The code that computes the next word of the schedule, and stores it in W, which held the 16th word before the new
-- word. S, U and V stand for the names of the 15th, the 7th and the 2nd word before the new word.
local EXTENSION_CODE = [[
x, y = S * 0x100000001, V * 0x100000001
W = W + U + (x >> 7 ~ x >> 18 ~ S >> 3) + (y >> 17 ~ y >> 19 ~ V >> 10) & 0xffffffff
]]

-- Compiles a function that returns the eight words of a padded text's hash. All rounds are written out, with words as
-- locals, which takes half the time of a loop over tables.
local function compile_hash()
  local words, rounds = {}, {}
  for t = 0, 15 do
    words[t + 1] = "w" .. t
  end
  for t = 0, 63 do
    local names = { W = "w" .. t % 16, S = "w" .. (t + 1) % 16, U = "w" .. (t + 9) % 16, V = "w" .. (t + 14) % 16,
      K = CONSTANTS[t + 1] }
    for i = 0, 7 do -- a round renames the working words instead of moving their values
      local index = (i - t) % 8 + 1
      names[("ABCDEFGH"):sub(i + 1, i + 1)] = ("abcdefgh"):sub(index, index)
    end
    rounds[t + 1] = ((t < 16 and "" or EXTENSION_CODE) .. ROUND_CODE):gsub("%f[%w]%u%f[^%w]", names)
  end
  return assert(load(([[
    local a0, b0, c0, d0, e0, f0, g0, h0 = 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
      0x1f83d9ab, 0x5be0cd19
    local text, unpack, x, y = ...
    for start = 1, #text, 64 do
      local WORDS = unpack(">I4I4I4I4I4I4I4I4I4I4I4I4I4I4I4I4", text, start)
      local a, b, c, d, e, f, g, h = a0, b0, c0, d0, e0, f0, g0, h0
      ROUNDS
      a0, b0, c0, d0 = a0 + a & 0xffffffff, b0 + b & 0xffffffff, c0 + c & 0xffffffff, d0 + d & 0xffffffff
      e0, f0, g0, h0 = e0 + e & 0xffffffff, f0 + f & 0xffffffff, g0 + g & 0xffffffff, h0 + h & 0xffffffff
    end
    return a0, b0, c0, d0, e0, f0, g0, h0]]):gsub("%u%u+", { WORDS = table.concat(words, ", "),
      ROUNDS = table.concat(rounds) }), "=sha256"))
end

local hash_padded = compile_hash()

function M.hash(text)
  local zeros = (55 - #text) % 64
  local padded = text .. "\x80" .. ("\0"):rep(zeros) .. string.pack(">I8", #text * 8)
  return (("%08x"):rep(8):format(hash_padded(padded, string.unpack)))
end

-- The digest that Longhand prints and compares: the first 16 digits.
function M.digest(text)
  return M.hash(text):sub(1, 16)
end

return M
