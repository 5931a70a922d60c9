/* kayak_words.h - the words of the linked site; included by kayak.c alone. */
#ifndef TROTLINE_TESTS_KAYAK_WORDS_H
#define TROTLINE_TESTS_KAYAK_WORDS_H

static const char *const rivers[] = {
    "Wekiva River",    "Ichetucknee River", "Suwannee River",  "Santa Fe River",     "Rainbow River",
    "Silver River",    "Juniper Run",       "Peace River",     "Hillsborough River", "Weeki Wachee",
    "Chassahowitzka",  "Loxahatchee River", "Econlockhatchee", "St. Marys River",    "Withlacoochee",
    "Ocklawaha River", "Blackwater River",  "Coldwater Creek", "Juniper Creek",      "Holmes Creek",
    "Econfina Creek",  "Chipola River",     "Wacissa River",   "Aucilla River",      "Wakulla River",
    "Sopchoppy River", "Ochlockonee River", "Estero River",    "Imperial River",     "Myakka River",
    "Alafia River",    "Little Manatee",    "Braden River",    "Fisheating Creek",   "Turner River",
    "Halfway Creek",   "Hells Bay",         "Nine Mile Pond",  "Noble Hammock",      "Indian River"};
static const char *const stretches[] = {"upper run",        "lower run",   "headwaters", "mouth",
                                        "spring to bridge", "night float", "loop trail", "winter route"};
static const char *const makes[] = {"Heron",  "Osprey", "Limpkin", "Anhinga", "Manatee", "Gar",
                                    "Mullet", "Snook",  "Tarpon",  "Egret",   "Ibis",    "Otter"};
static const char *const things[] = {"paddle",     "spray skirt",  "dry bag",      "bilge pump", "throw bag",
                                     "sun hat",    "deck compass", "paddle float", "roof rack",  "touring kayak",
                                     "sit-on-top", "anchor",       "water filter", "headlamp",   "tow line",
                                     "stove",      "hammock",      "life vest",    "chart case", "rudder"};
static const char *const first_names[] = {"Alma",    "Bento", "Carla", "Dwight", "Edie",  "Floyd",  "Greta",  "Hank",
                                          "Inez",    "Jonas", "Kitty", "Lamar",  "Mabel", "Nils",   "Odette", "Percy",
                                          "Queenie", "Rufus", "Sonia", "Tobias", "Una",   "Virgil", "Wanda",  "Yusuf"};
static const char *const last_names[] = {"Alderman", "Bixby",   "Cordero",  "Dunn",   "Estes",   "Farrow",
                                         "Gaskin",   "Hatch",   "Irizarry", "Joyner", "Kessler", "Lovett",
                                         "Mercado",  "Nettles", "Osborn",   "Purvis", "Quick",   "Roundtree",
                                         "Sayles",   "Tindall", "Upton",    "Varnum", "Whidden", "Yancey"};
static const char *const months[] = {"January", "February", "March",     "April",   "May",      "June",
                                     "July",    "August",   "September", "October", "November", "December"};
static const char *const grades[] = {"easy", "easy, some carries", "moderate", "strenuous in wind", "for the patient"};
static const char *const waters[] = {"clear spring water", "blackwater", "tidal", "brackish", "lake and marsh"};
static const char *const launches[] = {"concrete ramp", "sandy beach", "a dock with a ladder", "steps, steep",
                                       "roadside, room for three cars"};
static const char *const skies[] = {"sun all day", "rain at noon", "fog till ten", "wind from the gulf", "heat"};
static const char *const friends[] = {"paddlers", "weather", "shop", "springs"};

static const char *const about_trails[] = {
    "@ is narrow here, and the current does most of the work.",
    "Put in early: by eleven the tubers own the water.",
    "Cypress knees stand in the channel, so keep the bow straight and the talk low.",
    "Below the second bridge @ widens, and the wind has room to play.",
    "Turtles slide off every log; count them if the children grow restless.",
    "There is one carry, over a tree that fell in the last storm and that nobody has cut.",
    "The take-out is easily missed: look for a blue ribbon on the left.",
    "In a dry spring @ is a string of pools, and you will walk more than you paddle.",
    "Camping is allowed on the sandbars, fires are not.",
    "Alligators lie on the sunny bank and want to be left there.",
    "The spring itself is roped off, but the run below it is as clear.",
    "At high water the side channels open, and @ becomes a maze worth a compass."};
static const char *const about_trips[] = {"We met at the ramp at seven and were on @ by half past.",
                                          "The shuttle took longer than the first three miles.",
                                          "Somebody had left the drain plug at home, and a cork served.",
                                          "An otter looked us over, and went on with its breakfast.",
                                          "Lunch was on a sandbar that was not there last year.",
                                          "The afternoon breeze came early and straight against us.",
                                          "Two limpkins cried all the way to the bend.",
                                          "Nobody swam who had not meant to.",
                                          "@ was a foot higher than the gauge had promised.",
                                          "We would do it again, but with more water and less gear."};
static const char *const about_gear[] = {"A @ should be dull to talk about and pleasant to forget.",
                                         "Ours has been dropped, sat on and left in the sun for two summers.",
                                         "The stitching gave way at the first corner, and the maker sent another.",
                                         "It floats, which is more than can be said of the last one.",
                                         "For day trips a lighter @ will do.",
                                         "Salt is its enemy: rinse it every time.",
                                         "The colour is a matter of taste, and of being found.",
                                         "We bought it with our own money and would again."};
static const char *const about_people[] = {"@ learned to paddle before driving, and still prefers it.",
                                           "On weekdays there is a desk; on weekends there is a river.",
                                           "Ask about the night on the St. Marys, but have time.",
                                           "Keeps the gauge book for three creeks and has never missed a Monday.",
                                           "Teaches the roll in a heated pool every winter.",
                                           "Has a theory about mullet, and will share it.",
                                           "Once portaged a piano, for a bet, and does not say who won."};

/* 8 by 8 pixels of river green; one transparent pixel */
static const char png[] =
    "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x08\0\0\0\x08\x08\x02\0\0\0\x4b\x6d\x29\xdc\0\0\0\x30IDAT"
    "\x78\xda\x6d\xc2\xa1\x11\0\x20\0\x03\xb1\x6e\xd2\x11\x11\x08\x04\x02\x81\x40\xfc\xd2\x2c\xf0\xb9\xa4\x03\x9d"
    "\x4e\x74\xba\xd0\xe9\x46\xa7\x07\x9d\x5e\x74\xfa\xd0\x29\xe8\x0f\x33\x2c\x49\xc1\x54\x66\x22\x03"
    "\0\0\0\0IEND\xae\x42\x60\x82";
static const char gif[] =
    "GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0;";
#endif
