-- Colours, dashes and points of curves: the styles of names, and differences that eyes can see.

local support = dofile("tests/lua/support.lua")

local colours = require("lab.study.report.figures.colours")
local lu = require("luaunit")

TestColours = {}

function TestColours.test_encodings_have_their_own_styles()
  local seen_colours = {}
  for _, name in ipairs({ "none", "geometric", "sincos", "relative", "alibi", "rope", "learned" }) do
    local plain_style = colours.choose_style(name)
    lu.assertEquals({ plain_style.dash, seen_colours[plain_style.colour] }, { "solid" })
    seen_colours[plain_style.colour] = true
  end
  for _, name in ipairs({ "sincos", "relative", "alibi", "rope", "learned" }) do
    local plain_style, random_style = colours.choose_style(name), colours.choose_style("rand-" .. name)
    lu.assertEquals(random_style.dash, "(9,4)")
    lu.assertNotEquals(random_style.colour, plain_style.colour)
    lu.assertNotEquals(random_style.point, plain_style.point)
  end
  lu.assertEquals(colours.choose_style("rand_sinusoid"), colours.choose_style("rand-sincos"))
  lu.assertEquals(colours.choose_style("relative-500"), colours.choose_style("relative"))
  local styles = colours.choose_styles({ "mine", "rope", "yours" })
  lu.assertEquals(styles.rope, colours.choose_style("rope"))
  lu.assertNotEquals(styles.mine.colour, styles.yours.colour)
end

-- With more names than colours, all styles still differ. The first names, one for each colour, have solid lines.
function TestColours.test_many_names_all_differ()
  local names, name_by_text = {}, {}
  for i = 1, 40 do
    names[i] = (i % 2 == 0 and "base-" or "layers-") .. i
  end
  local styles = colours.choose_styles(names)
  for _, name in ipairs(names) do
    local style = styles[name]
    local text = ("%s %s %d"):format(style.colour, style.dash, style.point)
    lu.assertNil(name_by_text[text], name)
    name_by_text[text] = name
  end
  for i = 1, #colours.PALETTE do
    lu.assertEquals(styles[names[i]].dash, "solid")
  end
end

-- gnuplot's hollow points are 4, 6, 8, ...
function TestColours.test_no_point_is_hollow()
  local names = {}
  for i = 1, 72 do
    names[i] = "x" .. i
  end
  for name, style in pairs(colours.choose_styles(names)) do
    lu.assertTrue(style.point <= 3 or style.point % 2 == 1, name)
  end
end

-- ---- differences that eyes can see ----

-- Returns the linear red, green and blue of a colour.
local function make_linear(colour)
  local channels = {}
  for digits in colour:gmatch("%x%x") do
    local share = tonumber(digits, 16) / 255
    channels[#channels + 1] = share <= 0.04045 and share / 12.92 or ((share + 0.055) / 1.055) ^ 2.4
  end
  return channels
end

local function multiply(matrix, vector)
  local product = {}
  for i, row in ipairs(matrix) do
    product[i] = row[1] * vector[1] + row[2] * vector[2] + row[3] * vector[3]
  end
  return product
end

-- For normal sight and each of the three dichromacies, the matrix from a linear colour to the linear colour that a
-- person with this sight perceives (Machado, Oliveira, Fernandes 2009).
local SIGHTS = {
  normal = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } },
  protanopia = { { 0.152286, 1.052583, -0.204868 }, { 0.114503, 0.786281, 0.099216 },
    { -0.003882, -0.048116, 1.051998 } },
  deuteranopia = { { 0.367322, 0.860646, -0.227968 }, { 0.280085, 0.672501, 0.047413 },
    { -0.011820, 0.042940, 0.968881 } },
  tritanopia = { { 1.255528, -0.076749, -0.178779 }, { -0.078411, 0.930809, 0.147602 },
    { 0.004733, 0.691367, 0.303900 } },
}
-- The matrix from linear colours to CIE XYZ, and white in CIE XYZ.
local XYZ = { { 0.4124564, 0.3575761, 0.1804375 }, { 0.2126729, 0.7151522, 0.0721750 },
  { 0.0193339, 0.1191920, 0.9503041 } }
local WHITE = { 0.95047, 1, 1.08883 }

-- Returns the CIE Lab coordinates of a colour as a person with this sight perceives it.
local function compute_lab(colour, sight)
  local perceived = multiply(SIGHTS[sight], make_linear(colour))
  for i, value in ipairs(perceived) do
    perceived[i] = math.max(0, math.min(1, value))
  end
  local f = multiply(XYZ, perceived)
  for i, value in ipairs(f) do
    local share = value / WHITE[i]
    f[i] = share > 216 / 24389 and share ^ (1 / 3) or (24389 / 27 * share + 16) / 116
  end
  return { 116 * f[2] - 16, 500 * (f[1] - f[2]), 200 * (f[2] - f[3]) }
end

local function compute_contrast(first_colour, second_colour)
  local a, b = multiply(XYZ, make_linear(first_colour))[2], multiply(XYZ, make_linear(second_colour))[2]
  return (math.max(a, b) + 0.05) / (math.min(a, b) + 0.05)
end

function TestColours.test_colours_differ_to_every_sight()
  for sight in pairs(SIGHTS) do
    for _, side in ipairs({ 1, 2 }) do -- colours on a light and on a dark background
      for i, entry in ipairs(colours.PALETTE) do
        for k = 1, i - 1 do
          local a, b = compute_lab(entry[side], sight), compute_lab(colours.PALETTE[k][side], sight)
          local distance = math.sqrt((a[1] - b[1]) ^ 2 + (a[2] - b[2]) ^ 2 + (a[3] - b[3]) ^ 2)
          lu.assertTrue(distance >= 24, ("%s: %s and %s: %.1f"):format(sight, entry[side], colours.PALETTE[k][side],
            distance))
        end
      end
    end
  end
end

-- Every colour of the palette, and every shade of an axis of numbers, stands out from its background.
function TestColours.test_colours_stand_out()
  local styles = colours.choose_styles_along({ "1", "2", "3", "4", "5", "6", "7" })
  for i, entry in ipairs(colours.PALETTE) do
    styles[i] = { colour = entry[1], dark = entry[2] }
  end
  for _, style in pairs(styles) do
    lu.assertTrue(compute_contrast(style.colour, "#ffffff") >= 3 and compute_contrast(style.colour, colours.LIGHT) >= 3,
      style.colour)
    lu.assertTrue(compute_contrast(style.dark, "#15171c") >= 3 and compute_contrast(style.dark, colours.DARK) >= 3,
      style.dark)
  end
  lu.assertAlmostEquals(compute_contrast("#000000", "#ffffff"), 21, 1e-5)
end

support.run()
