for (int ${index} = ${first}; ${index} < ${past}; ${index}++) { % if direction == "forward"
for (int ${index} = ${past} - 1; ${index} >= ${first_back}; ${index}--) { % else
    % include(launch.template, launch) % for _, launch in ipairs(list)
}
