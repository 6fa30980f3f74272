% -- Lists the launches of all repetitions of a group of blocks.
for (int ${index} = ${first}; ${index} < ${past}; ${index}++) { % if direction == "forward"
for (int ${index} = ${past} - 1; ${index} >= ${first_with_gradient}; ${index}--) { % else
    if (${index} + 1 < ${past}) list_phase(list, ${loss_phases.backward}, ${index}); % if loss_phases and direction == "backward"
    % include(launch.template, launch) % for _, launch in ipairs(list)
    if (training && ${index} + 1 < ${past}) list_phase(list, ${loss_phases.forward}, ${index}); % if loss_phases and direction == "forward"
}
