-- Accuracy against length, as a gnuplot script that draws an SVG and a PNG.
--
-- Input: runs { title, accuracy = { lengths, by_length } }, the accuracies of chance and of the majority baseline, and
-- the longest training length. Output: text; nothing is run here.

local M = {}

local COLOURS = { "#0072B2", "#D55E00", "#009E73", "#CC79A7" } -- Okabe and Ito: told apart by everybody
local POINTS = { 7, 5, 9, 13 }

local SETTINGS = [[
set encoding utf8
set border 3 lw 1 lc rgb "#444444"
set tics nomirror out scale 0.6 textcolor rgb "#222222"
set grid y lt 1 lw 0.6 lc rgb "#e4e4e4"
set logscale x 2
set xlabel "sequence length (log scale)"
set ylabel "token accuracy" offset 0.5,0
set yrange [0:1.02]
set ytics 0.2 format "%.0f%%"
set key off
]]

-- One data block per run: length, accuracy in percent.
local function data(runs)
  local lines = {}
  for i, run in ipairs(runs) do
    lines[#lines + 1] = ("$run%d << EOD"):format(i)
    for _, length in ipairs(run.accuracy.lengths) do
      lines[#lines + 1] = ("%d %.6f"):format(length, 100 * run.accuracy.by_length[length])
    end
    lines[#lines + 1] = "EOD"
  end
  return table.concat(lines, "\n")
end

function M.csv(runs)
  local lines = { "run,length,accuracy" }
  for _, run in ipairs(runs) do
    for _, length in ipairs(run.accuracy.lengths) do
      lines[#lines + 1] = ("%s,%d,%.6f"):format(run.id, length, run.accuracy.by_length[length])
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

local function marks(runs, chance, baseline, trained_to)
  local lengths = runs[1].accuracy.lengths
  local first, last = lengths[1], lengths[#lengths]
  local ticks = {}
  for _, tick in ipairs({ 1, 2, 5, 10, 20, 40, 100, 200, 500, 1000, 2000 }) do
    if tick >= first and tick <= last then
      ticks[#ticks + 1] = tostring(tick)
    end
  end
  local lines = {
    ("set xrange [%g:%g]"):format(first * 0.9, last * 1.1),
    "set xtics (" .. table.concat(ticks, ", ") .. ")",
    ("set object 1 rectangle from %g,0 to %d,102 fc rgb '#f4f4f0' fs solid noborder behind"):format(first * 0.9,
      trained_to),
    ("set arrow 1 from %d,0 to %d,102 nohead dt (6,4) lw 1.2 lc rgb '#555555'"):format(trained_to, trained_to),
    ("set label 1 'trained on lengths up to %d' at %d,106 center tc rgb '#555555'"):format(trained_to, trained_to),
    ("set label 2 'chance %.0f%%' at %g,%g right tc rgb '#777777'"):format(100 * chance, last, 100 * chance - 3.2),
    ("set label 3 'most frequent token %.1f%%' at %g,%g right tc rgb '#777777'"):format(100 * baseline, last,
      100 * baseline + 3.2),
  }
  return table.concat(lines, "\n")
end

local function curves(runs, chance, baseline)
  local parts = {
    ("%g with lines dt (2,3) lw 1.2 lc rgb '#888888'"):format(100 * chance),
    ("%g with lines dt (8,3) lw 1.2 lc rgb '#888888'"):format(100 * baseline),
  }
  for i in ipairs(runs) do
    parts[#parts + 1] = ("$run%d using 1:2 with linespoints lw 2.4 pt %d ps 0.9 lc rgb '%s'"):format(i, POINTS[i],
      COLOURS[i])
  end
  return "plot " .. table.concat(parts, ", \\\n     ")
end

function M.script(runs, chance, baseline, trained_to)
  local picture = SETTINGS .. marks(runs, chance, baseline, trained_to) .. "\n" .. curves(runs, chance, baseline)
  return table.concat({
    data(runs),
    "set terminal svg size 800,480 dynamic font 'Helvetica,15' background rgb 'white'",
    "set output 'accuracy.svg'",
    picture,
    "set terminal pngcairo size 1600,960 font 'Sans,26' linewidth 2 pointscale 1.6",
    "set output 'accuracy.png'",
    "replot",
    "unset output",
    "",
  }, "\n")
end

return M
